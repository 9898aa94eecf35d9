import type { JSX } from "preact";
import type { Message } from "../../core/entry-kit.ts";
import type { MessageChange } from "../analysis/align-messages.ts";
import type { ChangedField, RequestDifference, ToolsDifference } from "../analysis/diff-requests.ts";
import { diffTexts } from "../analysis/diff-texts.ts";
import { formatCount, showControls } from "../format.ts";
import { LazyFold, TextPieces } from "./shared-parts.tsx";
import { formatValue } from "./model/format-value.ts";
import { JsonText } from "./safe-text.tsx";
import { type MessageContext, SentMessage } from "./sent-request.tsx";

interface RequestChangesProps extends MessageContext {
  readonly difference: RequestDifference;
}

export function RequestChanges({ difference, ...context }: RequestChangesProps): JSX.Element {
  const { fields, tools, system, messages } = difference;
  return (
    <>
      {fields.length > 0 && <h4>Settings</h4>}
      {fields.map((field) => (
        <FieldChange key={field.name} {...field} />
      ))}
      {tools !== undefined && <ToolChanges {...tools} />}
      {system !== undefined && (
        <>
          <h4>System text</h4>
          <TextPieces pieces={system} />
        </>
      )}
      <h4>Messages</h4>
      {messages.map((change) => (
        <ChangedMessages key={`${change.index} ${change.nextIndex}`} change={change} {...context} />
      ))}
    </>
  );
}

const toText = (value: unknown): string => (value === undefined ? "not set" : formatValue(value));

function FieldChange({ name, before, after }: ChangedField): JSX.Element {
  return (
    <>
      <p class="part-title">{showControls(name.replace("settings.", ""))}</p>
      <TextPieces pieces={diffTexts(toText(before), toText(after), "words")} />
    </>
  );
}

function ToolChanges({ added, removed, changed, isReordered, order }: ToolsDifference): JSX.Element {
  return (
    <>
      <h4>Tools</h4>
      {added.map((tool) => (
        <div key={tool.name} class="change added">
          <LazyFold title={`Added ${showControls(tool.name)}`}>{() => <JsonText value={tool} />}</LazyFold>
        </div>
      ))}
      {removed.map((tool) => (
        <div key={tool.name} class="change removed">
          <LazyFold title={`Removed ${showControls(tool.name)}`}>{() => <JsonText value={tool} />}</LazyFold>
        </div>
      ))}
      {changed.map(({ name, before, after, isKeyOrder }) => (
        <div key={name} class="change replaced">
          <LazyFold title={`${isKeyOrder ? "Other order of keys in" : "Changed"} ${showControls(name)}`}>
            {() => <TextPieces pieces={diffTexts(toText(before), toText(after))} />}
          </LazyFold>
        </div>
      ))}
      {isReordered && <p class="part-title">New order: {showControls(order.join(", "))}</p>}
    </>
  );
}

const titles: { readonly [Kind in MessageChange["kind"]]: string } = {
  kept: "the same",
  added: "added",
  removed: "removed",
  masked: "masked",
  compacted: "compacted",
  edited: "edited",
  "keys-reordered": "with another order of keys",
};

function ChangedMessages({ change, ...context }: MessageContext & { readonly change: MessageChange }): JSX.Element {
  if (change.kind === "kept") {
    const [from, to] = [change.nextIndex, change.nextIndex + change.count - 1];
    return (
      <p class="kept">
        {from === to ? `${from}: the same` : `${from} to ${to}: ${formatCount(change.count)} messages, the same`}
      </p>
    );
  }
  const before = "before" in change ? change.before : [];
  const after = "after" in change ? change.after : [];
  const isPair = before.length === 1 && after.length === 1 && change.kind !== "compacted";
  return (
    <>
      <p class="part-title">{titles[change.kind]}</p>
      {change.kind !== "masked" && isPair ? (
        <div class="change replaced">
          <TextPieces pieces={diffTexts(toText(before[0]), toText(after[0]))} />
        </div>
      ) : (
        <>
          {change.kind !== "masked" && <MessageGroup side="removed" messages={before} from={change.index} {...context} />}
          <MessageGroup
            side={change.kind === "masked" ? "replaced" : "added"}
            messages={after}
            from={change.nextIndex}
            {...context}
          />
        </>
      )}
    </>
  );
}

interface MessageGroupProps extends MessageContext {
  readonly side: "added" | "removed" | "replaced";
  readonly messages: readonly Message[];
  readonly from: number;
}

function MessageGroup({ side, messages, from, ...context }: MessageGroupProps): JSX.Element {
  return (
    <div class={`change ${side}`}>
      {messages.map((message, at) => (
        <SentMessage key={at} message={message} index={from + at} {...context} />
      ))}
    </div>
  );
}
