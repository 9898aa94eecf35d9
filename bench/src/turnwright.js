// Imports the built library. Set TURNWRIGHT_DIST to measure a build in another folder.
import { pathToFileURL } from "node:url";

export const dist = process.env.TURNWRIGHT_DIST
  ? pathToFileURL(`${process.env.TURNWRIGHT_DIST}/`)
  : new URL("../../dist/", import.meta.url);

/** @type {typeof import("../../src/core/index.ts")} */
const library = await import(new URL("index.js", dist).href);
/** @type {typeof import("../../src/journal/index.ts")} */
const journals = await import(new URL("journal.js", dist).href);

export const { fileJournal, replayJournal } = journals;
export const { createLoopEvents, deferTools, defineTool, memoryJournal, runToolLoop, streamToolLoop } = library;
