// Splits the text of pages, comments and strings into sentences with line numbers.

import ts from "typescript";

/** A paragraph, a list item, a heading, a table cell, a comment or a string. `line` is the 1-based number of its first line. */
interface Block {
  readonly kind: "text" | "cell" | "heading" | "string";
  readonly line: number;
  readonly text: string;
}

/** A sentence without line breaks. `line` is the 1-based number of the line in which the sentence starts. */
export interface Sentence {
  readonly kind: Block["kind"];
  readonly line: number;
  readonly text: string;
}

const programsMark = "<!-- programs -->";

/** Returns the sentences and headings of a Markdown page. Omits code, HTML comments, link targets and generated lists of programs. */
export function readPageProse(page: string): readonly Sentence[] {
  let inCode = false;
  let inPrograms = false;
  const headings: Block[] = [];
  const lines = page.split("\n").map((line, index) => {
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence) inCode = !inCode;
    const isSkipped = isFence || inCode || inPrograms || /^#|^\s*<!--|^\s*\|?\s*:?-{3}/.test(line);
    inPrograms = line.trim() === programsMark;
    const heading = inCode ? undefined : /^#+\s+(.*)$/.exec(line)?.[1];
    if (heading !== undefined) headings.push({ kind: "heading", line: index + 1, text: heading });
    return isSkipped ? "" : line;
  });
  const startsBlock = (line: string): boolean => /^\s*([-*+]|\d+\.)\s|^\s*>/.test(line);
  const text = toBlocks(
    lines.map((line) => (line.trimStart().startsWith("|") ? "" : line)),
    startsBlock,
  );
  const cells = lines.flatMap((line, index) =>
    line.trimStart().startsWith("|")
      ? line.split("|").map((cell): Block => ({ kind: "cell", line: index + 1, text: cell.trim() }))
      : [],
  );
  return [...headings, ...text, ...cells].flatMap(toSentences);
}

/** Returns the sentences in the comments of a TypeScript file. Omits markers such as `#region`. */
export function readCommentProse(source: string): readonly Sentence[] {
  const lines = source.split("\n").map((line) => {
    const said = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))\s?(.*?)(?:\*\/)?\s*$/.exec(line)?.[1];
    const trailing = /[;,{}()[\]]\s+\/\/ (.*)$/.exec(line)?.[1];
    const text = said ?? trailing ?? "";
    return /^\s*(#(end)?region|@ts-)/.test(text) ? "" : text;
  });
  return toBlocks(lines, (line) => /^\s*([-*]\s|@\w+)/.test(line)).flatMap(toSentences);
}

/** Returns the sentences in the strings of a TypeScript file, such as messages of errors. Values in a template are written as "…". */
export function readStringProse(source: string): readonly Sentence[] {
  const file = ts.createSourceFile("strings.ts", source, ts.ScriptTarget.Latest, true);
  const blocks: Block[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    // Shorter strings are names and codes.
    if (text !== undefined && countWords(text) > 3)
      blocks.push({ kind: "string", line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1, text });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return blocks.flatMap(toSentences);
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

/** A block ends before an empty line, and before a line for which `startsBlock` returns true. */
function toBlocks(lines: readonly string[], startsBlock: (line: string) => boolean): readonly Block[] {
  const blocks: { kind: "text"; line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const last = blocks.at(-1);
    if (line.trim() === "") isOpen = false;
    else if (isOpen && last !== undefined && !startsBlock(line)) last.text += `\n${line}`;
    else {
      blocks.push({ kind: "text", line: index + 1, text: line });
      isOpen = true;
    }
  }
  return blocks;
}

function toSentences({ kind, line, text }: Block): readonly Sentence[] {
  const plain = text
    .replace(/^\s*(?:[-*+]|\d+\.)\s+|^\s*>\s*/, "")
    .replace(/`[^`]*`/g, (code) => code.replace(/[.!?]\s/g, "  "))
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
  let from = 0;
  return plain.split(/(?<=[.!?][*_)"]*)\s+(?=[*_("`[]*[A-Z0-9`])/).map((sentence) => {
    const at = plain.indexOf(sentence, from);
    from = at + sentence.length;
    const offset = plain.slice(0, at).split("\n").length - 1;
    return { kind, line: line + offset, text: sentence.replace(/\s+/g, " ").trim() };
  });
}

/** Counts words. A code span is one word. Punctuation alone is not a word. */
export function countWords(sentence: string): number {
  const words = sentence.replace(/`[^`]*`/g, "code").split(/\s+/);
  return words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
