import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digest, stableJson } from "./json.ts";

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  );
}

describe("stableJson", () => {
  it("sorts the keys at every level", () => {
    expect(stableJson({ b: [{ d: 1, c: null }], a: "x", B: true })).toBe('{"B":true,"a":"x","b":[{"c":null,"d":1}]}');
  });

  it("keeps all data of the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(stableJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(stableJson(reversed(value))).toBe(stableJson(value));
      }),
    );
  });

  it("returns different strings for different data", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const same = JSON.stringify(JSON.parse(stableJson(one))) === JSON.stringify(JSON.parse(stableJson(other)));
        expect(stableJson(one) === stableJson(other)).toBe(same);
      }),
    );
  });

  it.for<[what: string, value: unknown, text: string]>([
    [
      "dates and URLs as strings",
      { url: new URL("https://example.org/"), at: new Date(0) },
      '{"at":"1970-01-01T00:00:00.000Z","url":"https://example.org/"}',
    ],
    ["no undefined fields", { b: undefined, a: 1 }, '{"a":1}'],
    ["the key __proto__ as data", JSON.parse('{"b":1,"__proto__":{"z":1,"a":2}}'), '{"__proto__":{"a":2,"z":1},"b":1}'],
    ["whole-number keys first, in numeric order", { b: 1, 10: 1, 9: 1 }, '{"9":1,"10":1,"b":1}'],
    ["negative zero as 0", -0, "0"],
  ])("writes %s", ([, value, text]) => {
    expect(stableJson(value)).toBe(text);
  });

  it("throws for a cyclic value", () => {
    const ring: unknown[] = [];
    ring.push(ring);
    expect(() => stableJson(ring)).toThrow("a cyclic value");
  });
});

describe("digest", () => {
  it.for<[text: string, hash: string]>([
    ["", "035ca4fda48d72"],
    ["a", "07bb0581839449"],
    ["turnwright", "1230e6da934e7a"],
    ["é\u0000\ud83d\ude00", "14fd841528ffc5"],
  ])("always maps %j to %s, because journals outlive package versions", ([text, hash]) => {
    expect(digest(text)).toBe(hash);
  });

  it("returns 53 bits as 14 hexadecimal digits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(digest(text)).toMatch(/^[01][0-9a-f]{13}$/);
      }),
    );
  });

  it("changes about half of its bits if one character changes", () => {
    let flipped = 0;
    let pairs = 0;
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 1, max: 0xffff }),
        (text, at, change) => {
          const index = at % text.length;
          const other = text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ change) + text.slice(index + 1);
          expect(digest(other)).not.toBe(digest(text));
          flipped += [...(BigInt(`0x${digest(other)}`) ^ BigInt(`0x${digest(text)}`)).toString(2)].filter(
            (bit) => bit === "1",
          ).length;
          pairs++;
        },
      ),
      { numRuns: 300, seed: 7 },
    );
    expect(flipped / pairs / 53).toBeCloseTo(0.5, 1);
  });

  it("returns different hashes for 200,000 similar strings", () => {
    const hashes = new Set<string>();
    for (let index = 0; index < 100_000; index++)
      hashes.add(digest(`call_${index}`)).add(digest("x".repeat(index % 300) + index));
    expect(hashes.size).toBe(200_000);
  });
});
