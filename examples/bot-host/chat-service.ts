// The part of a chat service, such as Discord or Matrix, that a bot needs: rooms, posts and notices.

/** A message that a user wrote in a room. */
export interface Post {
  readonly roomId: string;
  /** The author's id in the chat service. */
  readonly userId: string;
  readonly text: string;
}

/** The service that the bot posts to. */
export interface ChatService {
  say(roomId: string, text: string): Promise<void>;
  /** Shows a notice next to the conversation. The notice is not part of the conversation. */
  showEmbed(roomId: string, title: string): Promise<void>;
}
