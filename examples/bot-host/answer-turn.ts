// Answers one user's posts in a chat room with a run in deliberate mode. Shows notices in the room, and writes a log.

import {
  contextRestarts,
  type ContextStash,
  createLoopEvents,
  gateTools,
  type LoopControl,
  type LoopEvents,
  type LoopResult,
  preToolText,
  type UserMessage,
} from "turnwright";
import type { Conversation } from "turnwright/conversation";
import type { LoopEmitter } from "turnwright/kit";
import type { DeliberateMode } from "turnwright/middleware";
import type { ChatService, Post } from "./chat-service.ts";

export interface Room {
  readonly id: string;
  readonly control: LoopControl;
  readonly conversation: Conversation;
  /** The posts that are in the conversation and have no answer yet. */
  unanswered: readonly Post[];
  /** Oldest first. */
  said: readonly Post[];
  waiting: readonly Post[];
  servedUser: string | undefined;
}

export interface TurnPorts {
  readonly stash: ContextStash;
  readonly service: ChatService;
  readonly persona: string;
  readonly quietRooms: ReadonlySet<string>;
  readonly mode: DeliberateMode;
  log(line: string): void;
}

/** Answers posts of one user, together with the posts in `room.unanswered`. */
export async function answerTurn(room: Room, turn: readonly Post[], ports: TurnPorts): Promise<void> {
  // #region turn
  const posts = [...room.unanswered, ...turn];
  room.unanswered = [];
  const userId = posts[0]?.userId ?? "";
  const gate = ports.mode.forTurn({
    // Each user has a conversation of their own. If users shared one, the words of one user could allow a tool for another user.
    conversationId: JSON.stringify([room.id, userId]),
    text: textsOf(posts).join("\n"),
    recent: textsOf(room.said.filter((post) => post.userId === userId)),
  });
  const result = await room.conversation.send(turn.map(toMessage), {
    events: listen(room, ports),
    middleware: [
      contextRestarts({ stash: ports.stash }),
      preToolText({ suppressFollowUpAfterText: ["update_short_term_memory"] }),
      gateTools(gate),
    ],
    session: {
      userId,
      responseTarget: { kind: "persona", name: ports.persona },
      detailsLabel: "[Scene Metadata]",
      surfaceUserErrors: !ports.quietRooms.has(room.id),
    },
  });

  // `undelivered` has messages that arrived too late for this run. The next run begins with them.
  const { reason, status, undelivered } = result;
  const late = undelivered.map((message) => toPost(message, posts));
  if (reason.kind === "interrupted") {
    // The run was interrupted before it called a tool. The next run answers these posts together with the post that interrupted
    // this run.
    room.unanswered = [...posts, toPost(reason.message, posts), ...late];
    return;
  }
  room.unanswered = status === "stopped-by-user" ? [] : late;
  room.said = [...room.said, ...posts].slice(-maxPosts);
  // #endregion turn
  await tell(room, result, ports);
}

const embeds: { readonly [Kind in Exclude<LoopEvents["notice"]["kind"], "unmarked-restart">]: string } = {
  "still-working": "This takes a while. !stop ends it.",
  "max-iterations": "That was too much for one answer.",
  "tool-error-cap": "My tools fail. Try again later.",
  "stream-timeout": "No answer came in time. Try again later.",
};

/** Shows notices in the room. Users should not learn the words that allow a tool, so these words appear only in the log. */
function listen(room: Room, ports: TurnPorts): LoopEmitter {
  const { log } = ports;
  const events = createLoopEvents();
  events.on("notice", ({ kind, toolName }) => {
    if (kind === "unmarked-restart") log(`${room.id}: ${toolName} returned a restart without contextRestart`);
    else void showEmbed(room, embeds[kind], ports);
  });
  events.on("hidden-notice", ({ name, trigger }) =>
    log(`${room.id}: ${name} was let through by ${JSON.stringify(trigger.match)} (${trigger.source})`),
  );
  events.on("restart", ({ suffix, pendingContext }) => log(`${room.id}: restarted with the ${suffix}, ${pendingContext}`));
  return events;
}

/** Shows a notice. An error of the chat service does not end the run. */
function showEmbed(room: Room, title: string, { service, log }: TurnPorts): Promise<void> {
  return service
    .showEmbed(room.id, title)
    .catch((error: unknown) => log(`${room.id}: "${title}" was not shown: ${String(error)}`));
}

async function tell(room: Room, result: LoopResult, ports: TurnPorts): Promise<void> {
  const { service, quietRooms, log } = ports;
  const { status, reason, responseText, error, thoughtLog, thoughtLogOwner } = result;
  if (thoughtLog !== undefined) log(`${room.id}: ${thoughtLogOwner?.name} thought ${JSON.stringify(thoughtLog)}`);
  if (status !== "completed") log(`${room.id}: ${status} (${reason.kind}) ${error?.message ?? ""}`.trimEnd());
  if (responseText !== "") await service.say(room.id, responseText);
  // If a run fails, users read only a short notice, and the details are in the operator's log. `tool-error-cap` is left out,
  // because the room has already read a notice about it.
  const wentWrong = (status === "error" && reason.kind !== "tool-error-cap") || status === "empty-response";
  if (wentWrong && !quietRooms.has(room.id)) await showEmbed(room, "Something went wrong.", ports);
}

/**
 * Adds the user's name before the text, for the model. Tools must not trust this name, because users can write any name. They use
 * `session.userId`.
 */
export function toMessage({ userId, text }: Post): UserMessage {
  return { role: "user", content: `${userId}: ${text}` };
}

function textsOf(posts: readonly Post[]): readonly string[] {
  return posts.map(({ text }) => text);
}

function toPost({ content }: UserMessage, [first]: readonly Post[]): Post {
  const { roomId, userId } = first ?? { roomId: "", userId: "" };
  return { roomId, userId, text: typeof content === "string" ? content.slice(userId.length + 2) : "" };
}

const maxPosts = 100;
