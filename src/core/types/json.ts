/** Plain data: what survives JSON.stringify and JSON.parse unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** What becomes of a value in JSON: of what has a `toJSON`, such as a Date, what that gives. */
export type Plain<T> = T extends { toJSON(key: string): infer Written }
  ? Plain<Written>
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;
