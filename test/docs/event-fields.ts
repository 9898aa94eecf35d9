import ts from "typescript";

const path = "src/core/types/loop-event.ts";

/** Returns the fields of each event, from its type. Omits the fields that every event has. */
export function readEventFields(): ReadonlyMap<string, readonly string[]> {
  const program = ts.createProgram([path], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    // The types of the events need `Pick` and `Omit` only.
    lib: ["lib.es5.d.ts"],
    types: [],
  });
  const checker = program.getTypeChecker();
  const types = new Map<string, ts.Type>();
  program.getSourceFile(path)?.forEachChild((node) => {
    if (ts.isInterfaceDeclaration(node)) types.set(node.name.text, checker.getTypeAtLocation(node));
  });
  const namesOf = (type: ts.Type | undefined): readonly string[] => (type?.getProperties() ?? []).map(({ name }) => name);
  const common = new Set(namesOf(types.get("EventBase")));
  const events = types.get("LoopEvents")?.getProperties() ?? [];
  return new Map(
    events.map((event) => [event.name, namesOf(checker.getTypeOfSymbol(event)).filter((name) => !common.has(name))]),
  );
}
