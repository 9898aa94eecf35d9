// The types of the editor, as far as this page uses it. Its packages are in site/node_modules, which a check of types does not need.

declare module "codemirror" {
  export type Extension = { readonly extension: unknown };
  export const basicSetup: Extension;
  export class EditorView {
    static readonly contentAttributes: { of(attributes: { readonly [name: string]: string }): Extension };
    static readonly updateListener: {
      of(
        listen: (update: { readonly docChanged: boolean; readonly state: { readonly doc: { toString(): string } } }) => void,
      ): Extension;
    };
    readonly dom: HTMLElement;
    constructor(config: { readonly doc: string; readonly extensions: readonly Extension[] });
  }
}

declare module "@codemirror/lang-javascript" {
  import type { Extension } from "codemirror";
  export function javascript(): Extension;
}
