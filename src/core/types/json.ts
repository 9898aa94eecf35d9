/** Plain data: what survives JSON.stringify and JSON.parse unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The JSON form of a value: for one with a `toJSON`, such as a Date, the result of that. */
export type Plain<T> = T extends { toJSON(key: string): infer Written }
  ? Plain<Written>
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;
