import { expect, it } from "vitest";
import { encodeBase64 } from "./media-source.ts";

it("encodeBase64: encodes any number of bytes", () => {
  const bytes = Uint8Array.from({ length: 200_001 }, (_, index) => index % 256);
  expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
  expect(encodeBase64(new Uint8Array())).toBe("");
});
