// Imports the built library. Set TURNWRIGHT_DIST to measure the build in another folder.
import { pathToFileURL } from "node:url";

/** The URL of the folder with the build. Ends with a slash. */
export const dist = process.env.TURNWRIGHT_DIST
  ? pathToFileURL(`${process.env.TURNWRIGHT_DIST}/`)
  : new URL("../../dist/", import.meta.url);

/** @type {typeof import("../../src/core/index.ts")} */
const library = await import(new URL("index.js", dist).href);
/** @type {typeof import("../../src/journal/index.ts")} */
const journals = await import(new URL("journal.js", dist).href);

export const { fileJournal, replayJournal } = journals;
export const { createLoopEvents, defineTool, runToolLoop, streamToolLoop } = library;
