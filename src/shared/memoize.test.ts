import { expect, it } from "vitest";
import { memoize } from "./promises.ts";

it("memoize: computes the value of each object once, even a value of 0", () => {
  const asked: object[] = [];
  const measure = memoize((source: { readonly length: number }) => {
    asked.push(source);
    return source.length;
  });
  const [empty, other] = [{ length: 0 }, { length: 0 }];
  expect([empty, other, empty, other].map(measure)).toEqual([0, 0, 0, 0]);
  expect(asked).toEqual([empty, other]);
  expect(asked[1]).toBe(other);
});
