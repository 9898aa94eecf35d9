import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatLocalTime, formatMs, formatShare, formatUSD, showControls } from "../format.ts";
import { activeMsOf, cacheShareOf, modelsOf, totalsOf } from "../analysis/run-totals.ts";
import type { LoggedRun } from "../../shared/run-log.ts";
import "./run-list.css";

interface ListedRun {
  readonly name: string;
  readonly run: LoggedRun;
  /** False for a run that was read from a journal, because its times begin at 0. */
  readonly hasDates: boolean;
  readonly href: string;
}

interface RunListProps {
  readonly runs: readonly ListedRun[];
  /** Returns the link to the comparison of two runs, by their indexes in `runs`. */
  readonly compareHref: (a: number, b: number) => string;
}

interface Row {
  readonly index: number;
  readonly href: string;
  readonly status: string;
  readonly cells: { readonly [Name in ColumnName]: Cell };
}

interface Cell {
  /** Rows are sorted by this value. */
  readonly value: string | number;
  readonly text: string;
}

const columns = [
  { name: "log", title: "Log" },
  { name: "runId", title: "Run" },
  { name: "status", title: "Status" },
  { name: "reason", title: "Reason" },
  { name: "started", title: "Started" },
  { name: "duration", title: "Active time", isNumber: true },
  { name: "iterations", title: "Iterations", isNumber: true },
  { name: "calls", title: "Calls", isNumber: true },
  { name: "nested", title: "Nested runs", isNumber: true },
  { name: "tokens", title: "Tokens", isNumber: true },
  { name: "cached", title: "Cached", isNumber: true },
  { name: "cost", title: "Cost", isNumber: true },
  { name: "model", title: "Model" },
] as const;

type Column = (typeof columns)[number];
type ColumnName = Column["name"];

interface Order {
  readonly name: ColumnName;
  readonly isDescending: boolean;
}

export function RunList({ runs, compareHref }: RunListProps): JSX.Element {
  const [order, setOrder] = useState<Order | undefined>(undefined);
  const [picked, setPicked] = useState<readonly number[]>([]);
  const pick = (index: number): void =>
    setPicked(picked.includes(index) ? picked.filter((one) => one !== index) : [...picked, index].slice(-2));
  const rows = sortRows(runs.map(toRow), order);
  const [left, right] = picked;
  return (
    <section class="run-list" aria-label="Runs">
      <p class="compare" aria-live="polite">
        {left !== undefined && right !== undefined ? (
          <a href={compareHref(left, right)}>Compare the two selected runs</a>
        ) : (
          `${formatCount(runs.length)} runs. Select two of them to compare them.`
        )}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of runs">
        <table>
          <thead>
            <tr>
              <th scope="col">Compare</th>
              {columns.map((column) => (
                <HeadCell key={column.name} column={column} order={order} setOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <RunRow key={row.index} row={row} isPicked={picked.includes(row.index)} pick={pick} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface HeadCellProps {
  readonly column: Column;
  readonly order: Order | undefined;
  readonly setOrder: (order: Order) => void;
}

function HeadCell({ column, order, setOrder }: HeadCellProps): JSX.Element {
  const isSorted = order?.name === column.name;
  const isDescending = isSorted && order.isDescending;
  const direction = isDescending ? "descending" : "ascending";
  return (
    <th scope="col" class={classOf(column)} {...(isSorted && { "aria-sort": direction })}>
      <button type="button" onClick={() => setOrder({ name: column.name, isDescending: isSorted && !isDescending })}>
        {column.title}
        {isSorted && (isDescending ? " ↓" : " ↑")}
      </button>
    </th>
  );
}

interface RunRowProps {
  readonly row: Row;
  readonly isPicked: boolean;
  readonly pick: (index: number) => void;
}

function RunRow({ row: { index, href, status, cells }, isPicked, pick }: RunRowProps): JSX.Element {
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare run ${showControls(cells.runId.text)}`}
          checked={isPicked}
          onChange={() => pick(index)}
        />
      </td>
      {columns.map((column) => (
        <td key={column.name} class={column.name === "status" ? `status-${status}` : classOf(column)}>
          {column.name === "runId" ? <a href={href}>{showControls(cells.runId.text)}</a> : showControls(cells[column.name].text)}
        </td>
      ))}
    </tr>
  );
}

function classOf(column: Column): string | undefined {
  if ("isNumber" in column) return "number";
  return column.name === "log" || column.name === "runId" ? "name" : undefined;
}

function sortRows(rows: readonly Row[], order: Order | undefined): readonly Row[] {
  if (order === undefined) return rows;
  const sign = order.isDescending ? -1 : 1;
  const compare = (one: string | number, other: string | number): number =>
    typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en");
  return [...rows].sort((one, other) => sign * compare(one.cells[order.name].value, other.cells[order.name].value));
}

/** The statuses that have their own color. A run without an end is "open". */
const colouredStatuses = new Set(["completed", "error", "timeout", "rejected", "suspended", "open"]);

function toRow({ name, run, hasDates, href }: ListedRun, index: number): Row {
  const totals = totalsOf(run);
  const { iterations, calls, nestedRuns, tokens, costUSD } = totals;
  const duration = activeMsOf(run);
  const status = run.error === undefined ? (run.status ?? "open") : "rejected";
  const text = (value: string): Cell => ({ value, text: value });
  const count = (value: number): Cell => ({ value, text: formatCount(value) });
  const cells: Row["cells"] = {
    log: text(name),
    runId: text(run.runId),
    status: text(status === "open" ? "not ended" : status),
    reason: text(run.error?.message ?? run.reason?.kind ?? ""),
    started: toCell(hasDates ? run.startedAt : undefined, formatLocalTime),
    duration: { value: duration, text: formatMs(duration) },
    iterations: count(iterations),
    calls: count(calls),
    nested: count(nestedRuns),
    tokens: count(tokens),
    cached: toCell(cacheShareOf(totals), formatShare),
    cost: toCell(costUSD, formatUSD),
    model: text(modelsOf(run).join(", ")),
  };
  return { index, href, status: colouredStatuses.has(status) ? status : "other", cells };
}

/** Returns a table cell for an amount. Unknown amounts are sorted before known ones. */
function toCell(value: number | undefined, format: (value: number) => string): Cell {
  return value === undefined ? { value: -1, text: "" } : { value, text: format(value) };
}
