// The part of a chat service, such as Discord or Matrix, that a bot needs: rooms, posts and notices.

/** Somebody said something in a room. */
export interface Post {
  readonly roomId: string;
  /** The author's id on the service. */
  readonly userId: string;
  readonly text: string;
}

/** The service that the bot posts to. */
export interface ChatService {
  say(roomId: string, text: string): Promise<void>;
  /** Shows a notice beside the conversation, which is no part of it. */
  showEmbed(roomId: string, title: string): Promise<void>;
}
