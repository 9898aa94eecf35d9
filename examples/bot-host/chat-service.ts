// The part of a chat service, such as Discord or Matrix, that a bot needs: rooms, posts and notices.

export interface Post {
  readonly roomId: string;
  readonly userId: string;
  readonly text: string;
}

export interface ChatService {
  say(roomId: string, text: string): Promise<void>;
  /** Shows a notice next to the conversation. The notice is not part of the conversation. */
  showEmbed(roomId: string, title: string): Promise<void>;
}
