import { type LoopOptions, type Message, type Middleware, type ModelRequest, type Provider, runToolLoop } from "turnwright";
import { type LoggedRun, parseRunLog, runLog } from "turnwright/inspect";
import { addWatchers } from "../../add-watchers.ts";

export type RequestEdit = (request: ModelRequest) => Partial<ModelRequest>;

/** Changes the logged requests of a run, as if another wrapper had changed them. */
export async function logEdited(options: LoopOptions, edit: RequestEdit = () => ({})): Promise<LoggedRun> {
  const lines: string[] = [];
  const edited: Middleware = { name: "edit", pure: true, provider: (provider) => editing(provider, edit) };
  await runToolLoop(addWatchers(options, edited, runLog({ to: { write: (line) => lines.push(line) } })));
  const [run] = parseRunLog(lines.join("")).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}

function editing(provider: Provider, edit: RequestEdit): Provider {
  const { id, model } = provider;
  return {
    id,
    model,
    stream: (request, call) => {
      const { messages, system, tools, toolChoice, settings, iteration } = request;
      return provider.stream({ ...request, messages, system, tools, toolChoice, settings, iteration, ...edit(request) }, call);
    },
  };
}

export const editMessages =
  (edit: (messages: readonly Message[], iteration: number) => readonly Message[]): RequestEdit =>
  ({ messages, iteration }) =>
    iteration === 0 ? {} : { messages: edit(messages, iteration) };

export const editAt =
  (iteration: number, edit: RequestEdit): RequestEdit =>
  (request) =>
    request.iteration === iteration ? edit(request) : {};
