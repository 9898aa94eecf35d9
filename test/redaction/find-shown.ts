import { bareEdges } from "../../src/shared/edges.ts";

/** Finds words that the exact redaction removes, but that a program without it would show. `clean` is the redacted text. */
export function findShown(text: string, clean: string): readonly string[] {
  const secret = text.split(/[\s"'`,;:=<>()[\]{}/@&?%\\]+/).filter((word) => word.length >= 4 && !clean.includes(word));
  const shown = bareEdges.redactText(text, 2_000);
  return secret.filter((word) => shown.includes(word) && !/^-*(?:BEGIN|END|PRIVATE)-*$/.test(word));
}
