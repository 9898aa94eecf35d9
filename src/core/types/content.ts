/**
 * A piece of content that a user or a tool hands to the model. What a provider has no form for ends the iteration as `bad-request` before
 * the request where a user sent it; where a tool returned it, the model is told in the result. docs/guides/providers.md has a table.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/** Bytes of some kind, or where to find them. The media type decides what they are, whether they are called an image or a file. */
export interface MediaContent {
  /** IANA media type, such as "image/png"; "image/*" for an image whose type is not known. A data URL has its own. */
  readonly mediaType: string;
  /** Base64 text, or a URL (an object, or a string with a scheme such as "https:" or "data:"). Nothing is fetched here. */
  readonly data: string | URL;
}

/** What a user message may hold. */
export type UserPart = ContentPart;
