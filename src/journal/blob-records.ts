// The form of a record whose large parts are in a blob store. Every recorded value is wrapped in an object, so that data in the
// value, such as the result of a tool, cannot be mistaken for the id of a blob.

import { createHash } from "node:crypto";
import { describeValue, isRecord, LoopError } from "../core/entry-kit.ts";

export type BlobRecord =
  | {
      /** The recorded value. Fields that are in the blob store are null here, which keeps the order of the fields. */
      readonly value: unknown;
      readonly blobs?: readonly (readonly [field: string, id: string])[];
    }
  /** The id of a blob with the whole value. */
  | { readonly blob: string };

export interface PackedRecord {
  readonly record: BlobRecord;
  /** The blobs to store before the record is written: texts by id. */
  readonly texts: ReadonlyMap<string, string>;
}

export const usualMinBytes = 100_000;

export function isBlobId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

export function toBlobId(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Moves the fields of `value` that are longer than `minBytes` into blobs. A value that is not an object is moved as a whole. */
export function packRecord(value: unknown, minBytes: number): PackedRecord {
  const texts = new Map<string, string>();
  const toBlob = (part: unknown): string | undefined => {
    const text = JSON.stringify(part) as string | undefined;
    if (text === undefined || Buffer.byteLength(text) <= minBytes) return undefined;
    const id = toBlobId(text);
    texts.set(id, text);
    return id;
  };
  if (!isRecord(value)) {
    const id = toBlob(value);
    return { record: id === undefined ? { value } : { blob: id }, texts };
  }
  const ids = new Map<string, string>();
  for (const [field, part] of Object.entries(value)) {
    const id = toBlob(part);
    if (id !== undefined) ids.set(field, id);
  }
  if (ids.size === 0) return { record: { value }, texts };
  const rest = Object.entries(value).map(([field, part]) => [field, ids.has(field) ? null : part] as const);
  return { record: { value: Object.fromEntries(rest), blobs: [...ids] }, texts };
}

export function readBlobRecord(key: string, given: unknown): BlobRecord {
  if (isBlobRecord(given)) return given;
  const problem = `was not written with "withBlobs": it is ${describeValue(given)} in another form. Read it without "withBlobs"`;
  throw new LoopError("journal-damaged", { key, problem });
}

function isBlobRecord(given: unknown): given is BlobRecord {
  if (!isRecord(given)) return false;
  const { value, blobs, blob } = given;
  const count = Object.keys(given).length;
  if (count === 1) return Object.hasOwn(given, "value") || isBlobId(blob);
  if (count !== 2 || !isRecord(value) || !Array.isArray(blobs)) return false;
  return blobs.every((pair: unknown) => Array.isArray(pair) && Object.hasOwn(value, pair[0] as string) && isBlobId(pair[1]));
}

export function blobIdsOf(record: BlobRecord): readonly string[] {
  return "blob" in record ? [record.blob] : (record.blobs ?? []).map(([, id]) => id);
}

export function unpackRecord(key: string, record: BlobRecord, texts: ReadonlyMap<string, string>): unknown {
  const read = (id: string): unknown => {
    const text = texts.get(id);
    if (text !== undefined && toBlobId(text) === id) return JSON.parse(text);
    const state = text === undefined ? "is not in the blob store" : "was changed in the blob store";
    throw new LoopError("journal-damaged", {
      key,
      problem: `needs the blob ${id}, which ${state}. Restore the blob from a copy`,
    });
  };
  if ("blob" in record) return read(record.blob);
  const { value, blobs } = record;
  if (blobs === undefined) return value;
  const ids = new Map(blobs);
  const entries = Object.entries(value as object).map(([field, part]: [string, unknown]) => {
    const id = ids.get(field);
    return [field, id === undefined ? part : read(id)] as const;
  });
  return Object.fromEntries(entries);
}
