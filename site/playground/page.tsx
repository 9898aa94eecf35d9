// The playground: a program, a run of it that can be stopped, steered, approved and continued after a reload, and the page of the run.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { createLoopControl, type Json, type LoopControl, type LoopEvent, type LoopOptions, type LoopResult } from "turnwright";
import { execute } from "./execute.ts";
import { showLive } from "./live-page.ts";
import { forgetRun, readProgram, readSavedRun, type SavedRun, saveProgram } from "./saved-run.ts";

/** The bundler puts program.js here. */
declare const PROGRAM: string;

type Waiting = LoopResult["pendingCalls"][number];

type State =
  | { readonly kind: "idle" }
  | { readonly kind: "interrupted"; readonly run: SavedRun }
  | { readonly kind: "running"; readonly control: LoopControl }
  | { readonly kind: "suspended"; readonly waiting: readonly Waiting[] }
  | { readonly kind: "ended"; readonly ending: string };

function firstState(): State {
  const run = readSavedRun();
  return run === undefined ? { kind: "idle" } : { kind: "interrupted", run };
}

/** Returns the text that an event adds to the story of the run. */
function tell(event: LoopEvent): string {
  if (event.type === "text-delta") return event.text;
  if (event.type === "tool-start") return `\n[${event.name} ${JSON.stringify(event.args)}]\n`;
  if (event.type === "tool-end")
    return `[${event.name}: ${event.outcome}${event.replayed === true ? ", from the journal" : ""}]\n`;
  return event.type === "steered" ? "\n[The model reads your message.]\n" : "";
}

function Header(): JSX.Element {
  return (
    <header>
      <a href="../">turnwright</a>
      <h1>Playground</h1>
      <p>Your program runs in this page, and nothing leaves your browser. A script plays the model.</p>
    </header>
  );
}

function App(): JSX.Element {
  const [code, setCode] = useState(() => readProgram() ?? PROGRAM);
  const [state, setState] = useState(firstState);
  const [story, setStory] = useState("");
  const frame = useRef<HTMLIFrameElement>(null);

  const change = (text: string): void => {
    setCode(text);
    saveProgram(text);
  };

  const run = async (saved: SavedRun, answers: LoopOptions["answers"]): Promise<void> => {
    if (frame.current === null) return;
    const control = createLoopControl();
    setState({ kind: "running", control });
    setStory("");
    try {
      const { write } = showLive(frame.current);
      const on = (event: LoopEvent): void => setStory((before) => before + tell(event));
      const result = await execute({ code, run: saved, control, answers, write, on });
      if (result.status === "suspended") return setState({ kind: "suspended", waiting: result.pendingCalls });
      forgetRun();
      const why = result.error === undefined ? result.reason.kind : result.error.message;
      setState({ kind: "ended", ending: `${result.status}: ${why}` });
    } catch (error) {
      setState({ kind: "ended", ending: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
    }
  };

  const start = (): void => {
    forgetRun();
    void run({ runId: crypto.randomUUID(), journal: { steps: {} } }, {});
  };

  const goOn = (answers: LoopOptions["answers"] = {}): void => {
    const saved = readSavedRun();
    if (saved !== undefined) void run(saved, answers);
  };

  return (
    <>
      <Header />
      <main>
        <section class="program">
          <Program code={code} change={change} />
          <div class="controls">
            <button type="button" class="first" disabled={state.kind === "running"} onClick={start}>
              Run
            </button>
            <button type="button" disabled={code === PROGRAM} onClick={() => (change(PROGRAM), location.reload())}>
              Reset the program
            </button>
          </div>
          <Controls state={state} goOn={goOn} />
          <pre class="story" aria-label="Story" aria-live="polite">
            {story}
          </pre>
        </section>
        <iframe ref={frame} title="The page of the run" />
      </main>
    </>
  );
}

function Program({ code, change }: { readonly code: string; change(text: string): void }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const load = async (): Promise<void> => {
      const { replaceByEditor } = await import("./editor.ts");
      if (field.current !== null) replaceByEditor(field.current, change);
    };
    void load();
  }, []);
  return (
    <textarea
      ref={field}
      aria-label="Program"
      spellcheck={false}
      value={code}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

function Controls({ state, goOn }: { readonly state: State; goOn(answers?: LoopOptions["answers"]): void }): JSX.Element | null {
  switch (state.kind) {
    case "idle":
      return null;
    case "interrupted":
      return (
        <div class="note">
          <p>
            A run was cut off when this page was closed. Its journal has {Object.keys(state.run.journal.steps).length} steps, in
            the localStorage of this browser.
          </p>
          <button type="button" class="first" onClick={() => goOn()}>
            Go on
          </button>
        </div>
      );
    case "running":
      return <Running control={state.control} />;
    case "suspended":
      return (
        <div class="note">
          <p>The run waits for you. Its journal is in the localStorage of this browser, so you may close the page meanwhile.</p>
          {state.waiting.map((call) => (
            <WaitingCall key={call.id} call={call} goOn={goOn} />
          ))}
        </div>
      );
    case "ended":
      return (
        <p class="note" role="status">
          {state.ending}
        </p>
      );
  }
}

function Running({ control }: { readonly control: LoopControl }): JSX.Element {
  const [message, setMessage] = useState("");
  const send = (event: Event): void => {
    event.preventDefault();
    if (message.trim() !== "") control.steer(message);
    setMessage("");
  };
  return (
    <form class="controls" onSubmit={send}>
      <button type="button" onClick={() => control.stop({ requester: "you" })}>
        Stop
      </button>
      <input aria-label="Message to the model" value={message} onInput={({ currentTarget }) => setMessage(currentTarget.value)} />
      <button type="submit">Steer</button>
    </form>
  );
}

interface WaitingProps {
  readonly call: Waiting;
  goOn(answers: LoopOptions["answers"]): void;
}

function WaitingCall({ call, goOn }: WaitingProps): JSX.Element {
  const [answer, setAnswer] = useState("");
  const { id = call.callId, name, args, waitsFor, question } = call;
  const asked = (
    <code>
      {name} {JSON.stringify(args)} {question?.text ?? `waits for: ${waitsFor}`}
    </code>
  );
  if (waitsFor === "approval")
    return (
      <div class="controls">
        {asked}
        <button type="button" class="first" onClick={() => goOn({ [id]: { kind: "approve" } })}>
          Approve
        </button>
        <button type="button" onClick={() => goOn({ [id]: { kind: "deny", reason: "The person says no." } })}>
          Deny
        </button>
      </div>
    );
  return (
    <div class="controls">
      {asked}
      <input aria-label="Answer" value={answer} onInput={({ currentTarget }) => setAnswer(currentTarget.value)} />
      <button type="button" onClick={() => goOn({ [id]: toAnswer(answer, waitsFor) })}>
        Answer
      </button>
    </div>
  );
}

/** Text that is not JSON is a string. */
function toAnswer(text: string, waitsFor: Waiting["waitsFor"]): NonNullable<LoopOptions["answers"]>[string] {
  let value: Json = text;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    // The answer is the text.
  }
  return waitsFor === "result" ? { kind: "result", result: value } : value;
}

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
