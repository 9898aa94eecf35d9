/** Returns Node's function that loads one of its modules. With static imports, an entry could not be loaded in browsers. */
export function builtinLoader(problem: string): typeof process.getBuiltinModule {
  const host: Partial<typeof process> | undefined = globalThis.process;
  if (typeof host?.getBuiltinModule === "function") return host.getBuiltinModule;
  throw new Error(problem);
}
