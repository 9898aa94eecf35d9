// Where the three specifications differ in what they are sent.

import type { AiSdkLanguageModel, PromptPart } from "./model-wire.ts";

/** Where the bytes of a file are. */
export type FileSource =
  | { readonly kind: "base64"; readonly data: string }
  /** As it was written, and parsed. */
  | { readonly kind: "url"; readonly text: string; readonly url: URL };

/** Some file. */
export interface FileFacts {
  /** IANA media type. */
  readonly mediaType: string;
  readonly source: FileSource;
}

/** How one specification says what another one says differently. */
export interface SpecWords {
  /** The `data` of a file in a user's message or in a model's turn. */
  toFileData(source: FileSource): unknown;
  /** A file in the result of a tool. Undefined where there is no word for it. */
  toResultFile(file: FileFacts): PromptPart | undefined;
  /** The result of a call that nobody allowed. */
  toDenial(reason: string): PromptPart;
  /** The type of a tool that the service defines. */
  readonly providerToolType: string;
  /** Kinds of parts of a turn that there is no word for. */
  readonly unknownParts: ReadonlySet<string>;
}

const onlyInV4: ReadonlySet<string> = new Set(["custom", "reasoning-file"]);

const toPlainData = (source: FileSource): unknown => (source.kind === "url" ? source.url : source.data);

const v2: SpecWords = {
  toFileData: toPlainData,
  toResultFile: ({ mediaType, source }) => (source.kind === "url" ? undefined : { type: "media", data: source.data, mediaType }),
  toDenial: (reason) => ({ type: "error-text", value: reason }),
  providerToolType: "provider-defined",
  unknownParts: onlyInV4,
};

const v3: SpecWords = {
  toFileData: toPlainData,
  toResultFile: ({ mediaType, source }) => {
    const kind = mediaType.toLowerCase().startsWith("image/") ? "image" : "file";
    if (source.kind === "url") return { type: `${kind}-url`, url: source.text };
    return { type: `${kind}-data`, data: source.data, mediaType };
  },
  toDenial: (reason) => ({ type: "execution-denied", reason }),
  providerToolType: "provider",
  unknownParts: onlyInV4,
};

/** Parsing may change a URL such as "gs://…", which its service wants as it was. */
function toTaggedData(source: FileSource): object {
  if (source.kind === "base64") return { type: "data", data: source.data };
  const { url, text } = source;
  return url.href === text ? { type: "url", url } : { type: "url", url, originalUrl: text };
}

const v4: SpecWords = {
  toFileData: toTaggedData,
  toResultFile: ({ mediaType, source }) => ({ type: "file", data: toTaggedData(source), mediaType }),
  toDenial: v3.toDenial,
  providerToolType: "provider",
  unknownParts: new Set(),
};

/** The words of each specification: one without does not compile. */
export const specWords: { readonly [Version in AiSdkLanguageModel["specificationVersion"]]: SpecWords } = { v2, v3, v4 };
