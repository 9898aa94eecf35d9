import { type Check, checkFields, type Checks, invalidOption, is, type LoopEmitter } from "../../core/kit.ts";
import type { Clock, LoopEvent } from "../../core/index.ts";
import { isEmitter } from "../../shared/guards.ts";
import { isText } from "../../shared/errors/check-fields.ts";
import { listenTo } from "../../shared/listen-to.ts";
import { systemClock } from "../../shared/signals.ts";
import { renderTree, toLine } from "./render-tree.ts";
import { createRunTree, type RunNode, type RunTreeOptions } from "./run-tree.ts";

/** A stream to write to, such as `process.stdout`. */
export interface TerminalOutput {
  write(text: string): unknown;
  /** True for a terminal. Otherwise, `showTeam` writes plain lines. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** The options for `showTeam`. */
export interface ShowTeamOptions extends Pick<RunTreeOptions, "name"> {
  /** The stream to write to, for example `process.stdout`. */
  readonly output: TerminalOutput;
  /** The clock for durations and redraws. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const outputCheck: Check = [
  'a stream with a "write" method',
  (value) => typeof value === "object" && value !== null && typeof Reflect.get(value, "write") === "function",
];

const checks: Checks<ShowTeamOptions> = { name: is.text, clock: is.object, output: outputCheck };

/** The time between two redraws, in milliseconds. */
const frameMs = 100;

const watched = ["run-start", "tool-start", "tool-end", "iteration-end", "compaction-end", "run-end"] as const;

/**
 * Shows an emitter's runs as a live tree: each run with its state, tools, tokens, cost and time. In a
 * terminal, the tree is redrawn in place. In a file or a pipe, each run's start and end are written as lines without control codes.
 *
 * Stops when the outermost run ends. Returns a function that stops the display earlier. The tree stays visible, with the cursor below it.
 * The cursor is never hidden, so nothing has to be restored. Print nothing else while the tree is shown.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const events = createLoopEvents();
 * showTeam(events, { output: process.stdout });
 * const result = await runToolLoop({ provider, messages, events, ...team });
 */
export function showTeam(events: LoopEmitter, options: ShowTeamOptions): () => void {
  if (!isEmitter(events)) throw invalidOption("events", "an emitter from createLoopEvents", events);
  checkFields("options", options, checks);
  const { output, name, clock = systemClock } = options;
  if ((output as unknown) === undefined) throw invalidOption("output", outputCheck[0], output);
  const tree = createRunTree({ name, now: () => clock.now() });
  const screen = output.isTTY === true ? createScreen(output) : undefined;
  let timer: unknown;
  let isOver = false;

  const draw = (): void => {
    screen?.draw(({ width, height }) => renderTree(tree, { width, height }));
  };
  const schedule = (): void => {
    if (isOver || timer !== undefined) return;
    timer = clock.setTimeout(() => {
      timer = undefined;
      draw();
      schedule();
    }, frameMs);
    // Lets the process exit even if the timer of an abandoned run is still set.
    (timer as { unref?(): void } | undefined)?.unref?.();
  };
  const hear = (event: LoopEvent): void => {
    tree.add(event);
    if (screen === undefined) writeLine(output, event, tree.runs);
    else schedule();
    if (event.type === "run-end" && event.path === undefined) stop();
  };
  const forget = listenTo(events, watched, hear);
  function stop(): void {
    if (isOver) return;
    isOver = true;
    if (timer !== undefined) clock.clearTimeout(timer);
    forget();
    draw();
  }
  return stop;
}

interface Screen {
  draw(render: (size: { readonly width: number; readonly height: number }) => string): void;
}

/** Draws over the previous drawing: moves the cursor up, clears everything below the cursor, and writes all lines at once. */
function createScreen(output: TerminalOutput): Screen {
  let drawn = 0;
  return {
    draw(render) {
      // Leaves one column and one row free, because some terminals wrap a full-width line, and scroll when the last row is filled.
      const text = render({ width: Math.max(20, (output.columns ?? 80) - 1), height: Math.max(2, (output.rows ?? 24) - 1) });
      output.write(`${drawn === 0 ? "" : `\u001B[${drawn}A\r\u001B[J`}${text}\n`);
      drawn = text.split("\n").length;
    },
  };
}

function writeLine(output: TerminalOutput, { type, runId }: LoopEvent, runs: readonly RunNode[]): void {
  if (type !== "run-start" && type !== "run-end") return;
  const found = findRun(runs, runId, "");
  if (found === undefined) return;
  const { node, indent } = found;
  const task = isText(node.task) ? `: ${node.task}` : "";
  const text =
    type === "run-start" ? `${node.name} started${task}` : `${node.name} ended as ${node.state}, ${node.tokens} tokens`;
  output.write(`${indent}${toLine(text)}\n`);
}

function findRun(runs: readonly RunNode[], runId: string, indent: string): { node: RunNode; indent: string } | undefined {
  for (const node of runs) {
    const found = node.runId === runId ? { node, indent } : findRun(node.nested, runId, `${indent}  `);
    if (found !== undefined) return found;
  }
  return undefined;
}
