// The parts of a chat service, such as Discord or Matrix, that a bot needs.

export interface Post {
  readonly roomId: string;
  readonly userId: string;
  readonly text: string;
}

export interface ChatService {
  say(roomId: string, text: string): Promise<void>;
  /** Shows a notice next to the conversation. The model does not read notices. */
  showEmbed(roomId: string, title: string): Promise<void>;
}
