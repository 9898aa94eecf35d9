import { expect, it } from "vitest";
import { cutText, takeStart } from "./texts.ts";

it.for<[text: string, longest: number, start: string]>([
  ["abc", 3, "abc"],
  ["abc", 2, "ab"],
  ["a😀", 3, "a😀"],
  ["a😀b", 2, "a"],
  ["a😀b", 3, "a😀"],
  ["😀", 1, ""],
])("takeStart and cutText: cut %j to %i units without splitting a surrogate pair", ([text, longest, start]) => {
  expect([takeStart(text, longest), cutText(text, longest)]).toEqual([start, start === text ? text : `${start}…`]);
});
