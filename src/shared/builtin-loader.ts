/** Returns the function that loads Node's built-in modules. A static import would prevent the entry point from loading in browsers. */
export function builtinLoader(problem: string): typeof process.getBuiltinModule {
  const host: Partial<typeof process> | undefined = globalThis.process;
  if (typeof host?.getBuiltinModule === "function") return host.getBuiltinModule;
  throw new Error(problem);
}
