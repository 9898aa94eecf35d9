import { expect, it } from "vitest";
import { chunkFields, finishReasons, loopErrorCodes, providerErrorCodes, statusByReason } from "./known-names.ts";
import { readNames, readPage, readSection } from "./read-page.ts";

const words = readNames(readSection(readPage("llms.txt"), "Words"));

it.for<[what: string, names: readonly string[]]>([
  ["every status", Object.values(statusByReason)],
  ["every reason", Object.keys(statusByReason)],
  ["every finish reason", Object.keys(finishReasons)],
  ["every provider error code", Object.keys(providerErrorCodes)],
  ["every LoopError code", Object.keys(loopErrorCodes)],
  ["every chunk", Object.keys(chunkFields)],
])("llms.txt: names %s", ([, names]) => {
  expect(names.filter((name) => !words.includes(name))).toEqual([]);
});
