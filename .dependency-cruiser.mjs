// The layer rules: imports point down only, type imports included. Test files may import anything.

import { builtinModules } from "node:module";

/** The rooms of src, the topmost first. Rooms of one row are strangers to each other. The state is above the
 * tools, because the transcript holds what `render-outcome` makes of an outcome. Toolsets and json-schema are entries of their own above
 * the tools, because the core is not to grow by tools from elsewhere: docs/decisions/0013. */
const layers = [
  ["index.ts"],
  ["config", "cache", "plan", "toolsets", "json-schema", "testing", "inspect", "cli"],
  ["loop"],
  ["providers", "journal"],
  ["stages", "policies"],
  ["state"],
  ["observe"],
  ["tools"],
  ["errors"],
  ["kit"],
  ["contract"],
];

/**
 * The folders of src/loop, in rows as the rooms are; the files beside them are above them all.
 * start: from options to a live run. inbox: what comes from outside, and what follows an ending. batch: the calls of one pass.
 * pass: one stream, and what is asked of it. call: what every call needs, in a batch or early. run: what a run holds, and how it does a
 * step. options: what is checked and resolved before a run.
 */
const loopLayers = [["start", "inbox", "batch", "pass"], ["call"], ["run"], ["options"]];

/** Stages are strangers; a stage and its helpers are one family. */
const stageFamilies = [
  ["stream-once", "guard-stream", "stream-draft", "attempt", "call-ids", "eager-calls", "call-drafts"],
  ["execute-tool-call", "prepare-call", "dispatch-call"],
];

/** Rooms that the core entry must not reach: they are entries of their own. */
const besideTheCore = ["adapters", "testing", "inspect", "config", "cache", "plan", "toolsets", "json-schema", "cli"];

const modulesOfNode = `^(${builtinModules.join("|")})$`;
const test = "\\.test(-d)?\\.ts$";
const either = (names) => names.map((name) => name.replace(".", "\\.")).join("|");
const inRooms = (rooms) => `^src/(${either(rooms)})(/|$)`;

const layerRules = layers.flatMap((row, depth) =>
  row.map((room) => {
    const above = layers.slice(0, depth).flat();
    const beside = row.filter((other) => other !== room);
    return {
      name: `${room} imports down only`,
      severity: "error",
      from: { path: inRooms([room]), pathNot: test },
      to: { path: inRooms([...above, ...beside, "adapters", "spi.ts", "spi-observe.ts"]) },
    };
  }),
);

const loopRules = loopLayers.flatMap((row, depth) =>
  row.map((folder) => {
    const above = loopLayers.slice(0, depth).flat();
    const beside = row.filter((other) => other !== folder);
    return {
      name: `loop/${folder} imports down only`,
      severity: "error",
      from: { path: `^src/loop/${folder}/`, pathNot: test },
      to: { path: ["^src/loop/[^/]+$", `^src/loop/(${either([...above, ...beside])})/`] },
    };
  }),
);

const familyRules = stageFamilies.map((family) => ({
  name: `${family[0]} and its helpers import no other stage`,
  severity: "error",
  from: { path: `^src/stages/(${either(family)})\\.ts$` },
  to: { path: "^src/stages/", pathNot: `^src/stages/(${either(family)})\\.ts$` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...layerRules,
    ...loopRules,
    ...familyRules,
    {
      name: "a stage imports no stage",
      severity: "error",
      from: { path: "^src/stages/", pathNot: [test, `^src/stages/(${either(stageFamilies.flat())})\\.ts$`] },
      to: { path: "^src/stages/" },
    },
    {
      name: "a policy imports no policy",
      severity: "error",
      from: { path: "^src/policies/[^/]+$", pathNot: test },
      to: { path: "^src/policies/" },
    },
    {
      name: "a policy of several files imports no other policy",
      severity: "error",
      from: { path: "^src/policies/([^/]+)/", pathNot: test },
      to: { path: "^src/policies/", pathNot: "^src/policies/$1/" },
    },
    {
      name: "the contract imports only itself and types of eventemitter3",
      severity: "error",
      from: { path: "^src/contract/", pathNot: test },
      to: { pathNot: ["^src/contract/", "node_modules/eventemitter3/"] },
    },
    {
      name: "the contract has no code",
      severity: "error",
      from: { path: "^src/contract/", pathNot: test },
      to: { dependencyTypesNot: ["type-only"] },
    },
    {
      name: "spi shows what is below the stages",
      severity: "error",
      from: { path: "^src/spi(-observe)?\\.ts$" },
      to: { pathNot: inRooms(["state", "observe", "tools", "errors", "kit", "contract"]) },
    },
    {
      name: "an adapter imports spi, its own folder and its peer",
      severity: "error",
      from: { path: "^src/adapters/([^/]+)/", pathNot: test },
      // Servers' answers are checked as arguments are: docs/decisions/0018.
      to: { path: "^src/", pathNot: ["^src/spi(-observe)?\\.ts$", "^src/adapters/$1/", "^src/json-schema/compile-schema\\.ts$"] },
    },
    {
      name: "an adapter imports its peer for types only",
      severity: "error",
      // Prices have no client to hand in: docs/decisions/0007. Nor has tracing, and channels are Node's: docs/decisions/0013.
      from: { path: "^src/adapters/", pathNot: [test, "^src/adapters/(prices|otel|diagnostics)/"] },
      to: { pathNot: "^src/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only the deadline imports p-timeout",
      severity: "error",
      from: { path: "^(src|examples)/", pathNot: "^src/kit/deadline\\.ts$" },
      to: { path: "node_modules/p-timeout/" },
    },
    {
      name: "only json-schema imports its validator and its expressions",
      severity: "error",
      from: { path: "^src/", pathNot: [test, "^src/json-schema/"] },
      to: { path: "node_modules/(@cfworker|re2js)/" },
    },
    {
      name: "the core reaches neither Node, nor zod, nor another entry",
      severity: "error",
      from: { path: "^src/index\\.ts$" },
      to: { path: [modulesOfNode, "node_modules/zod/", inRooms(besideTheCore)], reachable: true },
    },
    {
      name: "the core rooms import no module of Node",
      severity: "error",
      from: { path: "^src/", pathNot: [test, "^src/(cli|adapters|testing|config|cache|journal)/"] },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "no cycles",
      severity: "error",
      from: { path: "^(src|scripts|test|examples)/" },
      to: { circular: true },
    },
    {
      name: "everything imported exists",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "the published code imports nothing that is only there for development",
      severity: "error",
      // What these import is bundled: noExternal in tsup.config.ts.
      from: { path: "^src/", pathNot: [test, "^src/kit/deadline\\.ts$", "^src/json-schema/"] },
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
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
