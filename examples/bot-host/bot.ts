// A bot in many chat rooms. Each room has at most one live run, which answers one user. A post that arrives during the run
// interrupts it, steers it, or waits.

import { type ContextStash, createLoopControl, type Clock, type Provider, type Tool } from "turnwright";
import { compactMessages, createDeliberateMode } from "turnwright/middleware";
import { type ConversationStore, createConversation } from "turnwright/conversation";
import { readEnvironment } from "turnwright/config";
import { answerTurn, type Room, toMessage, type TurnPorts } from "./answer-turn.ts";
import type { ChatService, Post } from "./chat-service.ts";

export interface BotOptions {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  /** Maps each tool to its triggers: a user who writes one of these words allows the tool. */
  readonly triggers: { readonly [toolName: string]: string | readonly string[] };
  readonly store: ConversationStore;
  readonly stash: ContextStash;
  readonly service: ChatService;
  readonly persona: string;
  readonly quietRooms: ReadonlySet<string>;
  readonly env: Parameters<typeof readEnvironment>[0];
  /** Writes a line to the operator's log, which users cannot see. */
  log(line: string): void;
  readonly clock?: Clock | undefined;
}

export interface Bot {
  hear(post: Post): void;
  /** Resolves when all posts have been answered. */
  settled(): Promise<void>;
}

const variables = {
  maxIterations: "BOT_MAX_FUNCTION_CALL_ITERATIONS",
  maxConsecutiveToolErrors: "BOT_MAX_CONSECUTIVE_TOOL_ERRORS",
  streamIdleMs: "STREAM_SDK_CALL_TIMEOUT_MS",
  toolMs: "TOOL_EXECUTION_TIMEOUT_MS",
};

export function createBot({ triggers, env, provider, tools, store, clock, ...options }: BotOptions): Bot {
  const { log } = options;
  const { limits, timeouts } = readEnvironment(env, {
    names: variables,
    onProblem: ({ name, problem, used }) => log(`${name}: ${problem}, ${used} is used`),
  });
  const mode = createDeliberateMode({ triggers, retainTurns: 2 });
  for (const { toolName, trigger, problem } of mode.problems) log(`the trigger "${trigger}" of ${toolName} ${problem}`);
  const ports: TurnPorts = { ...options, mode };

  const rooms = new Map<string, Room>();
  const open = (roomId: string): Room => {
    const known = rooms.get(roomId);
    if (known !== undefined) return known;
    const control = createLoopControl();
    const middleware = [compactMessages({ when: 30_000, keep: 5_000 })];
    const run = { provider, tools, control, middleware, timeouts, limits: { ...limits, softWarnIteration: 3 }, clock };
    const conversation = createConversation({ id: roomId, store, options: run });
    const room: Room = { id: roomId, control, conversation, unanswered: [], said: [], waiting: [], servedUser: undefined };
    rooms.set(roomId, room);
    return room;
  };
  const serving = new Set<Promise<void>>();
  return {
    hear(post) {
      const room = open(post.roomId);
      if (post.text === "!stop") return stop(room, post);
      if (room.servedUser !== undefined) return followUp(room, post);
      room.waiting = [post];
      const served = serve(room, ports).finally(() => serving.delete(served));
      serving.add(served);
    },
    async settled() {
      while (serving.size > 0) await Promise.all(serving);
    },
  };
}

// #region follow-ups
/**
 * Handles a post that arrives during a run. A run acts for one user, so only posts of that user interrupt or steer the run. Posts
 * of other users wait for the next runs.
 */
function followUp(room: Room, post: Post): void {
  const { control } = room;
  const message = toMessage(post);
  const isOwn = post.userId === room.servedUser;
  // Before the first tool call, the post interrupts the run, and the next run answers both posts. Later, the post steers the run,
  // because an interruption would discard finished work.
  const verb = control.isToolChainActive() ? "steer" : "interrupt";
  if (!isOwn || control[verb](message) === "finished") room.waiting = [...room.waiting, post];
}

function stop({ control, servedUser }: Room, { userId }: Post): void {
  if (userId === servedUser) control.stop({ requester: userId });
}

/** Starts one run after the other, until no post waits. */
async function serve(room: Room, ports: TurnPorts): Promise<void> {
  const next = (): Post | undefined => room.unanswered[0] ?? room.waiting[0];
  for (let first = next(); first !== undefined; first = next()) {
    const { userId } = first;
    room.servedUser = userId;
    const end = room.waiting.findIndex((post) => post.userId !== userId);
    const turn = room.waiting.slice(0, end < 0 ? undefined : end);
    room.waiting = room.waiting.slice(turn.length);
    await answerTurn(room, turn, ports).catch((error: unknown) => ports.log(`${room.id}: ${String(error)}`));
  }
  room.servedUser = undefined;
}
// #endregion follow-ups
