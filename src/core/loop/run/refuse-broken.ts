/** A run, as far as what broke it is asked for. */
interface Breakable {
  readonly failure: { readonly error: unknown } | undefined;
  readonly outer: Breakable | undefined;
}

/** Throws what broke a run or one around it: nothing is begun or recorded after that, for it would say how the run broke. */
export function refuseBroken({ failure, outer }: Breakable): void {
  if (failure !== undefined) throw failure.error;
  if (outer !== undefined) refuseBroken(outer);
}
