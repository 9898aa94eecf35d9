/** A piece of content that a user or a tool hands to the model. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/** Bytes of some kind, or where to find them. */
export interface MediaContent {
  /** IANA media type, such as "image/png". */
  readonly mediaType: string;
  /** Base64 text, or a URL (an object, or a string with a scheme such as "https:" or "data:"). */
  readonly data: string | URL;
}

/** What a user message may hold. */
export type UserPart = ContentPart;
