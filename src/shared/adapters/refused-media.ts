// Replaces images and files that the service has refused with text. Each request repeats the whole history, so otherwise one unreadable
// image would end every later run.

import type { ModelRequest } from "../../core/types/provider.ts";
import { locateMedia, type MediaPart, type MediaSource } from "../media-source.ts";
import { createReplacer, isImage, type Placed, placeMedia } from "./fit-media.ts";

/** Matches messages that services send to refuse all images. */
const imageRefusals: readonly RegExp[] = [
  // Matches refusals by Ollama (github.com/ollama/ollama/issues/17301), OpenRouter (github.com/github/app/issues/2163), llama-server
  // (github.com/ggml-org/llama.cpp tools/server/server-common.cpp) and Gemini (github.com/google/generative-ai-docs/issues/513).
  /support image input|image input (?:modality )?is not (?:supported|enabled)/i,
  // Matches refusals by DeepSeek (github.com/DayuanJiang/next-ai-draw-io/pull/55), Azure (github.com/browser-use/web-ui/issues/274) and a
  // text-only server (github.com/FlashML-org/FreeToken/issues/272).
  /unknown variant .?image_url|image_url is only supported by certain|content part type for text-only server/i,
];

/** An error about one image or file, which it seldom names. */
interface Unreadable {
  readonly says: RegExp;
  /** True for images and files that the error may be about. */
  readonly concerns: (media: MediaSource) => boolean;
  readonly problem: string;
}

const unreadable: readonly Unreadable[] = [
  {
    // Matches errors from Anthropic (github.com/anthropics/claude-code/issues/56016 and 22384), OpenAI
    // (github.com/anomalyco/opencode/issues/4781) and Gemini (github.com/google-gemini/gemini-cli/issues/5064 and 5882).
    says: /could not process image|not represent a valid image|process input image|image is not valid|image (?:exceeds \d|dimensions exceed)/i,
    concerns: isImage,
    problem: "the service cannot read it",
  },
  {
    // Matches errors from Anthropic (github.com/anthropics/claude-code/issues/25323, 19013 and 6231).
    says: /\bPDF specified (?:was not valid|is password protected)|maximum of \d{1,6} PDF pages/i,
    concerns: ({ mediaType }) => mediaType === "application/pdf",
    problem: "the service cannot read it",
  },
  {
    // Links that expire are the usual cause. Matches errors from OpenAI (github.com/agentscope-ai/QwenPaw/issues/7088), DashScope
    // (github.com/agentscope-ai/agentscope-java/issues/2700) and Anthropic (github.com/SWE-bench/SWE-bench/issues/548).
    says: /error while downloading|failed to download multimodal|unable to download|disallowed by .{0,40}robots\.txt/i,
    concerns: ({ kind }) => kind === "url",
    problem: "the service cannot download it",
  },
];

interface AdaptedMedia {
  readonly request: ModelRequest;
  readonly isChanged: boolean;
  /**
   * Remembers what the error refuses. Returns true if this request contained it and is worth sending again. A new user message keeps its
   * images and files, because the caller must learn that the model cannot see them.
   */
  refuse(message: string): boolean;
}

/** Returns a function that removes what earlier calls of `refuse` have refused. */
export function createMediaMemory(): (request: ModelRequest) => AdaptedMedia {
  let refusesImages = false;
  const problems = new WeakMap<MediaPart, string>();
  const replace = createReplacer();
  const findProblem = ({ part }: Placed): string | undefined =>
    refusesImages && isImage(locateMedia(part)) ? "the service accepts no images" : problems.get(part);
  return (request) => {
    const placed = placeMedia(request.messages);
    const replaced = new Map<Placed, string>();
    const sent = placed.filter((found) => {
      const problem = found.isNew ? undefined : findProblem(found);
      if (problem !== undefined) replaced.set(found, problem);
      return problem === undefined;
    });
    const isChanged = replaced.size > 0;
    return {
      request: isChanged ? { ...request, messages: replace(request.messages, replaced) } : request,
      isChanged,
      refuse: (message) => {
        if (imageRefusals.some((text) => text.test(message))) {
          const images = sent.filter(({ part }) => isImage(locateMedia(part)));
          if (images.length === 0 || images.some(({ isNew }) => isNew)) return false;
          refusesImages = true;
          return true;
        }
        const found = unreadable.find(({ says }) => says.test(message));
        const old = sent.filter(({ part, isNew }) => !isNew && found?.concerns(locateMedia(part)) === true);
        for (const { part } of old) problems.set(part, found?.problem ?? "");
        return old.length > 0;
      },
    };
  };
}
