// The version of Node that Restate's SDK needs.

/** Throws if this version of Node is too old. Restate's SDK would fail later, with a message that does not say why. */
export function requireNode22(): void {
  if ("withResolvers" in Promise) return;
  throw new Error(
    `turnwright/restate needs Node 22 or later. This is Node ${process.version}. Update Node, or use turnwright/dbos, which runs on Node 20.`,
  );
}
