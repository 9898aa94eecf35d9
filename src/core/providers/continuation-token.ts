// Where a paused turn goes on: who has paused it is written into its token, so that no memory is needed, in whatever process.

const pattern = /^turnwright-fallback:(\d{1,9})(?::([^]*))?$/;

/** The position of the provider that paused the turn, and the token that it gave. */
interface Continuation {
  readonly position: number | undefined;
  readonly token: string | undefined;
}

/** Writes the position of a provider before its token. */
export function writeToken(position: number, token: string | undefined): string {
  return token === undefined ? `turnwright-fallback:${position}` : `turnwright-fallback:${position}:${token}`;
}

/** Reads what `writeToken` wrote. Any other token has no position, and stays as it is. */
export function readToken(written: string | undefined): Continuation {
  const match = written === undefined ? null : pattern.exec(written);
  return match === null ? { position: undefined, token: written } : { position: Number(match[1]), token: match[2] };
}
