// A plugin for TypeDoc: the reference also shows the types that signatures mention and that no entry exports, in a module of their
// own. Programs derive such a type from what they use, for example with `Parameters<typeof maskResults>[0]`.

import { Context, Converter, ReflectionKind } from "typedoc";
import ts from "typescript";

/** @param {import("typedoc").Application} app */
export function showInnerTypes({ converter }) {
  /** @type {Set<import("typescript").Symbol>} */
  const mentioned = new Set();
  const refer = Context.prototype.createSymbolReference;
  Context.prototype.createSymbolReference = function referAndNote(symbol, ...others) {
    mentioned.add(symbol);
    return refer.call(this, symbol, ...others);
  };
  // Before the links of the reference are resolved.
  converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => convert(context, mentioned), 1_000);
}

function convert(context, mentioned) {
  context.setActiveProgram(context.programs[0]);
  const module = context.createDeclarationReflection(ReflectionKind.Module, undefined, undefined, "inner types");
  context.finalizeDeclarationReflection(module);
  const inside = context.withScope(module);
  // Conversion adds the types that a converted type mentions, which the loop then reaches too.
  for (const symbol of mentioned) {
    if (context.getReflectionFromSymbol(symbol) === undefined && isOurs(symbol)) context.converter.convertSymbol(inside, symbol);
  }
  context.setActiveProgram(undefined);
}

/** Leaves out the fields that mapped types mention. */
function isOurs({ flags, declarations = [] }) {
  const { Class, Interface, TypeAlias } = ts.SymbolFlags;
  const isOfSrc = (path) => path.includes("/src/") && !path.includes("/node_modules/");
  return (flags & (Class | Interface | TypeAlias)) !== 0 && declarations.some((one) => isOfSrc(one.getSourceFile().fileName));
}
