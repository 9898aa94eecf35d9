/** Who asks and how to answer. Anything else goes into `context`. */
export interface Session {
  readonly conversationId?: string | undefined;
  readonly userId?: string | undefined;
  readonly locale?: string | undefined;
  /** In whose name the answer is given; says who owns a thought log. */
  readonly responseTarget?: ResponseTarget | undefined;
  /** Whether users may see notices. Default true. */
  readonly surfaceUserErrors?: boolean | undefined;
  /** Heads the details in `responseText`. Default "[Scene Metadata]". */
  readonly detailsLabel?: string | undefined;
}

/** In whose name an answer is given. */
export interface ResponseTarget {
  readonly kind: "impersonated-user" | "alter-persona" | "default";
  readonly name?: string | undefined;
}
