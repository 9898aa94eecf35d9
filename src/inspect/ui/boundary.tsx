import { Component, type ComponentChildren } from "preact";
import { showControls } from "../show-controls.ts";

interface BoundaryProps {
  /** The part of the page that is inside, for the message. */
  readonly part: string;
  readonly children: ComponentChildren;
}

/** Shows a message in place of a part of the page that cannot be shown, for example because a log was changed by hand. */
export class Boundary extends Component<BoundaryProps, { readonly message?: string }> {
  override state: { readonly message?: string } = {};

  static override getDerivedStateFromError(error: unknown): { readonly message: string } {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render({ part, children }: BoundaryProps): ComponentChildren {
    const { message } = this.state;
    if (message === undefined) return children;
    return (
      <p class="problem" role="alert">
        {part} cannot be shown, because the log has unexpected values: {showControls(message)}
      </p>
    );
  }
}
