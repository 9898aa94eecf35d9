// Reads the fields of interfaces with their comments, for the tables in docs.

import { readFileSync } from "node:fs";
import ts from "typescript";

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  /** Without line breaks. Empty if the field has no comment. */
  readonly comment: string;
}

interface Interface {
  readonly path: string;
  readonly isExported: boolean;
  readonly fields: readonly Field[];
}

export function parseSource(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
}

/** Returns the interfaces by name, and also by path and name. */
export function readInterfaces(paths: readonly string[]): ReadonlyMap<string, Interface> {
  const found = new Map<string, Interface>();
  for (const path of paths)
    for (const node of parseSource(path).statements) {
      if (!ts.isInterfaceDeclaration(node)) continue;
      const isExported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      const one = { path, isExported, fields: node.members.filter(ts.isPropertySignature).map(readField) };
      found.set(`${path} ${node.name.text}`, one);
      // Two entries may have interfaces with the same name. Their tables name the file.
      if (isExported || !found.has(node.name.text)) found.set(node.name.text, one);
    }
  return found;
}

function readField(member: ts.PropertySignature): Field {
  return {
    name: member.name.getText(),
    type: (member.type?.getText() ?? "").replaceAll(/\s+/g, " "),
    isOptional: member.questionToken !== undefined,
    comment: commentOf(member),
  };
}

export function commentOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(comment?.comment) ?? "";
  const lists = text.split(/\n\s*-\s/).map((part) => part.replaceAll(/\s+/g, " ").trim());
  return lists.length === 1 ? (lists[0] ?? "") : `${lists[0]} ${lists.slice(1).join("; ")}.`;
}
