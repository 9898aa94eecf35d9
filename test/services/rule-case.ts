// One case for each rule: a request that keeps the rule, and one that breaks only this rule.

import type { StrictServiceKind } from "../../src/testing/strict/kinds.ts";

export interface RuleCase {
  readonly kind: StrictServiceKind;
  /** The path of the request. */
  readonly path: string;
  /** The beginning of the rule. */
  readonly rule: string;
  readonly accepted: object;
  readonly refused: object;
  readonly headers?: { readonly [name: string]: string };
}

/** A PNG with the given sizes. Only its header is real. */
export function png(width = 1, height = 1): string {
  const bytes = new Uint8Array(33);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return btoa(String.fromCharCode(...bytes));
}

export const jpeg = "/9j/4AAQSkZJRgABAQEASABIAAD/";
export const pdf: string = btoa("%PDF-1.7\n");
export const object: object = { type: "object", properties: {} };

export const many = <Value>(count: number, make: (index: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, index) => make(index));
