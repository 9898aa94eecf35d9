// Replaces a text field by an editor. A module of its own, because it is larger than everything else on the page.

import { javascript } from "@codemirror/lang-javascript";
import { basicSetup, EditorView } from "codemirror";

export function replaceByEditor(field: HTMLTextAreaElement, onChange: (text: string) => void): void {
  const editor = new EditorView({
    doc: field.value,
    extensions: [
      basicSetup,
      javascript(),
      EditorView.contentAttributes.of({ "aria-label": "Program" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
    ],
  });
  field.before(editor.dom);
  field.hidden = true;
}
