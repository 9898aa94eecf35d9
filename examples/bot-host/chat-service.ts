// What a bot needs of a chat service, such as Discord or Matrix: somewhere to say things, in rooms.

/** Somebody said something in a room. */
export interface Post {
  readonly roomId: string;
  /** Who it was, as the service knows it. */
  readonly userId: string;
  readonly text: string;
}

/** Where the bot speaks. */
export interface ChatService {
  say(roomId: string, text: string): Promise<void>;
  /** Shows a notice beside the conversation, which is no part of it. */
  showEmbed(roomId: string, title: string): Promise<void>;
}
