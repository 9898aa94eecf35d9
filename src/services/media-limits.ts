import type { MediaLimits } from "../shared/adapters/fit-media.ts";

const fourTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** 5 MiB, the maximum base64 size of an image on several services. */
const fiveMiB = 5_242_880;

/**
 * Anthropic accepts images with up to 10 MB of base64, but only 5 MB on Bedrock and Google Cloud. An image may measure up to 8,000 pixels a
 * side, but only up to 2,000 in requests with more than 20 images. A request may contain up to 100 images and PDFs, and up to 32 MB in
 * total (platform.claude.com/docs/en/build-with-claude/vision, github.com/anthropics/claude-code/issues/24541,
 * github.com/vellum-ai/vellum-assistant/issues/33979).
 */
export const anthropicMedia: MediaLimits = {
  imageTypes: fourTypes,
  maxImageLength: fiveMiB,
  maxSide: 8_000,
  maxCount: 100,
  maxTotal: 30_000_000,
  many: { count: 20, maxSide: 2_000 },
};

/**
 * At most 20 images of up to 3.75 MB and 8,000 pixels a side, and documents of up to 4.5 MB
 * (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html).
 */
export const bedrockMedia: MediaLimits = { maxImageLength: fiveMiB, maxFileLength: 6_291_456, maxSide: 8_000, maxCount: 20 };

/** At most 50 MB of inline data (ai.google.dev/gemini-api/docs/file-input-methods). */
export const googleMedia: MediaLimits = {
  imageTypes: ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
  maxImageLength: 69_905_068,
  maxFileLength: 69_905_068,
};

/**
 * At most 1,500 images (github.com/Azure/azure-rest-api-specs/issues/46145), of four types (github.com/STranslate/STranslate/issues/277).
 */
export const openaiMedia: MediaLimits = { imageTypes: fourTypes, maxCount: 1_500 };

/**
 * At most 50 images: "Exceeded maximum number of images (50) allowed in the request." (github.com/Azure/azure-rest-api-specs/issues/46145).
 */
export const azureMedia: MediaLimits = { imageTypes: fourTypes, maxCount: 50 };

/** Four types of images, and no other files (npm @ai-sdk/deepseek 3.0.56). */
export const deepseekMedia: MediaLimits = { imageTypes: fourTypes, fileTypes: [] };

/** Limits for services that accept only text. */
export const noMedia: MediaLimits = { imageTypes: [], fileTypes: [] };

/** Images but no other files (npm @ai-sdk/groq 4.0.84). */
export const groqMedia: MediaLimits = { fileTypes: [] };

/**
 * Images and audio, but no other files ("unsupported content[].type", github.com/ggml-org/llama.cpp tools/server/server-common.cpp). Images
 * are decoded with stb_image, which does not support WebP: "Failed to load image or audio file" (github.com/can1357/oh-my-pi/issues/2922).
 */
export const llamaServerMedia: MediaLimits = {
  imageTypes: ["image/png", "image/jpeg", "image/gif", "image/bmp"],
  fileTypes: ["audio/wav", "audio/wave", "audio/x-wav", "audio/mpeg", "audio/mp3"],
};

/** Images and audio, but no other files ("Unknown part type", github.com/vllm-project/vllm entrypoints/chat_utils.py). */
export const vllmMedia: MediaLimits = { fileTypes: llamaServerMedia.fileTypes };

/**
 * No image URLs: "image URLs are not currently supported, please use base64 encoded data instead" (github.com/ollama/ollama,
 * openai/openai.go).
 */
export const ollamaMedia: MediaLimits = { imageTypes: ["image/png", "image/jpeg", "image/webp"], fileTypes: [], noUrls: true };
