// The layer rules: imports point down only, type imports included. Test files may import anything.

import { builtinModules } from "node:module";

/** Files of src/core/loop that middleware may import. */
const seam = "(seam|middleware-tools|context-restart|option-table|limits)\\.ts$";

/** The parts of src/core, the topmost first. Parts of one row do not know each other. Each is the start of a path, as a regular expression. */
const layers = [
  ["journal/", "records/"],
  [`loop/(?!${seam})`],
  ["middleware/"],
  [`loop/${seam}`],
  ["providers/"],
  ["tools/"],
  ["errors/"],
  ["types/"],
];

/** The files through which other entries reach the core. */
const doors = "^src/core/(index|kit)\\.ts$";

/** Files that import more of the core. The list may only shrink. The test of one tool runs the stage of the loop that runs tools. */
const throughNoDoor = "^src/testing/run-tool\\.ts$";

/**
 * Files of the core whose exports middleware of the core imports. The kit exports them too, except `isUnmarkedRestart`, which the message
 * about a mistake needs, and the tables of checks that options of the run share with options of middleware.
 */
const exportedByKit = "(tools/registry|loop/context-restart|loop/seam|loop/middleware-tools|loop/option-table)\\.ts$";

/** Folders beside the core, which entries share. */
const shared = "shared|web|observe";

/** Files that may import other entries. A server's answers are checked as arguments are: docs/decisions/0018. */
const mayImportEntries =
  "^src/(conversation|host|testing|evals|cli|dbos|restate|inspect/(journal|rerun))/|^src/mcp/read-server\\.ts$";

/** Entries that import Node's modules. */
const onNode = "cache|cli|conversation|dbos|evals|host|inspect|journal|observe/diagnostics|restate|testing";

const modulesOfNode = `^(${builtinModules.join("|")})$`;
const test = "\\.test(-d)?\\.ts$";

const downOnly = (rows, root) =>
  rows.flatMap((row, depth) =>
    row.map((part) => {
      const above = rows.slice(0, depth).flat();
      const beside = row.filter((other) => other !== part);
      return {
        name: `${root}/${part} imports down only`,
        severity: "error",
        from: { path: `^${root}/${part}`, pathNot: test },
        to: { path: [`^${root}/[^/]+$`, ...[...above, ...beside].map((other) => `^${root}/${other}`)] },
      };
    }),
  );

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...downOnly(layers, "src/core"),
    {
      name: "the core imports no other entry",
      severity: "error",
      from: { path: "^src/core/", pathNot: test },
      to: { path: "^src/(?!(core|shared)/)" },
    },
    {
      name: "shared functions import only themselves and types of the core",
      severity: "error",
      from: { path: "^src/shared/", pathNot: test },
      to: { path: "^src/", pathNot: "^src/(shared|core/types)/" },
    },
    {
      name: "an entry reaches the core through one of its doors",
      severity: "error",
      from: { path: "^src/(?!(core|shared)/)[^/]+/", pathNot: [test, throughNoDoor] },
      // Types are no code, and programs derive those that no entry exports: docs/decisions/0057.
      to: { path: "^src/core/", pathNot: [doors, "^src/core/types/"] },
    },
    {
      name: "an entry does not import another one",
      severity: "error",
      from: { path: "^src/(?!core/)([^/]+)/", pathNot: [test, mayImportEntries] },
      to: { path: "^src/(?!core/)[^/]+/", pathNot: `^src/($1|services|${shared})/` },
    },
    {
      name: "the rules of services import only each other and the kit of adapters",
      severity: "error",
      from: { path: "^src/services/", pathNot: test },
      to: { path: "^src/", pathNot: "^src/((services|shared|core/types)/|core/(index|kit)\\.ts$)" },
    },
    {
      name: "middleware of the core imports what the index and the kit export",
      severity: "error",
      from: { path: "^src/core/middleware/", pathNot: test },
      to: { path: "^src/core/", pathNot: `^src/core/(middleware/|types/|${exportedByKit})` },
    },
    {
      name: "a feature of turnwright/middleware imports no other one",
      severity: "error",
      from: { path: "^src/middleware/([^/]+)/", pathNot: test },
      to: { path: "^src/middleware/", pathNot: "^src/middleware/$1/" },
    },
    {
      name: "the types import only themselves and types of eventemitter3",
      severity: "error",
      from: { path: "^src/core/types/", pathNot: test },
      to: { pathNot: ["^src/core/types/", "node_modules/eventemitter3/"] },
    },
    {
      name: "the types have no code",
      severity: "error",
      from: { path: "^src/core/types/", pathNot: test },
      to: { dependencyTypesNot: ["type-only"] },
    },
    {
      name: "an adapter imports its peer for types only",
      severity: "error",
      // Prices have no client to hand in: docs/decisions/0007. Nor has tracing, and channels are Node's: docs/decisions/0054.
      from: { path: "^src/(ai-sdk|anthropic|google|mcp|openai)/", pathNot: test },
      to: { pathNot: "^src/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only the deadline imports p-timeout",
      severity: "error",
      from: { path: "^(src|examples)/", pathNot: "^src/shared/cancellation/deadline\\.ts$" },
      to: { path: "node_modules/p-timeout/" },
    },
    {
      name: "only json-schema imports its validator",
      severity: "error",
      from: { path: "^src/", pathNot: [test, "^src/json-schema/"] },
      to: { path: "node_modules/@cfworker/" },
    },
    {
      name: "only the tool search imports its search engine",
      severity: "error",
      from: { path: "^src/", pathNot: [test, "^src/middleware/tool-search/"] },
      to: { path: "node_modules/minisearch/" },
    },
    {
      name: "only linear-regexp imports the engine of regular expressions",
      severity: "error",
      from: { path: "^src/", pathNot: [test, "^src/shared/linear-regexp\\.ts$"] },
      to: { path: "node_modules/re2js/" },
    },
    {
      name: "the core reaches neither Node nor zod",
      severity: "error",
      from: { path: "^src/core/", pathNot: test },
      to: { path: [modulesOfNode, "node_modules/zod/"] },
    },
    {
      name: "only entries for Node import its modules",
      severity: "error",
      from: { path: "^src/", pathNot: [test, `^src/(${onNode})/`] },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "no cycles",
      severity: "error",
      // Middleware brings tools, and the context of a tool starts runs with middleware: these types need each other.
      from: { path: "^(src|scripts|test|examples)/" },
      to: { circular: true, via: { pathNot: "^src/core/types/(middleware|loop-options)\\.ts$" } },
    },
    {
      name: "everything imported exists",
      severity: "error",
      from: {},
      // The exporter of examples/snippets/otlp.ts is not installed.
      to: { couldNotResolve: true, pathNot: "^@opentelemetry/exporter-trace-otlp-http$" },
    },
    {
      name: "the published code imports nothing that is only there for development",
      severity: "error",
      // These imports are bundled: noExternal in tsup.config.ts, and scripts/build-page.ts for the page.
      from: {
        path: "^src/",
        pathNot: [
          test,
          "^src/shared/(cancellation/deadline|linear-regexp|nearest-name)\\.ts$",
          "^src/json-schema/",
          "^src/cache/select-nodes\\.ts$",
          "^src/inspect/(ui|analysis)/",
        ],
      },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only", "npm-peer"] },
    },
    {
      name: "sources import no tests, scripts or examples",
      severity: "error",
      from: { path: "^src/", pathNot: test },
      to: { path: ["^(test|scripts|examples|bench)/", test] },
    },
    {
      name: "examples import what users import",
      severity: "error",
      from: { path: "^examples/" },
      to: { path: "^src/", dependencyTypesNot: ["aliased"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Parts of other projects, which scripts/test-frameworks.ts builds.
    exclude: { path: "^examples/in-a-server/frameworks/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
