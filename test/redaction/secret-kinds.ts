/** A text as it stands in the message of an error, the part of it that nobody may read, and a harmless word before it. */
export interface SecretKind {
  readonly kind: string;
  readonly text: string;
  readonly secret: string;
  /** Shows that the text did leave. It has only letters, so that a program without the exact redaction shows it too. */
  readonly mark: string;
}

type Row = readonly [kind: string, text: string, secret: string];

const hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
const mixed = "a1B2c3D4e5F6g7H8i9J0k1L2";
const body = "Bg7kqhkG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";

/** Keys that their first letters give away. */
const prefixes: readonly (readonly [vendor: string, prefix: string, rest?: string])[] = [
  ["OpenAI", "sk-proj-"],
  ["Anthropic", "sk-ant-api03-"],
  ["Stripe", "sk_live_"],
  ["Groq", "gsk_"],
  ["xAI", "xai-"],
  ["Perplexity", "pplx-"],
  ["NVIDIA", "nvapi-"],
  ["Cerebras", "csk-"],
  ["Hugging Face", "hf_"],
  ["Replicate", "r8_"],
  ["Together", "tgp_v1_"],
  ["LangSmith", "lsv2_"],
  ["Fireworks", "fw_"],
  ["Voyage", "pa-"],
  ["Vercel", "vck_"],
  ["Tavily", "tvly-"],
  ["Pinecone", "pcsk_"],
  ["GitHub", "ghp_"],
  ["GitHub, fine-grained", "github_pat_"],
  ["GitLab", "glpat-"],
  ["npm", "npm_"],
  ["PyPI", "pypi-"],
  ["Docker", "dckr_pat_"],
  ["DigitalOcean", "dop_v1_"],
  ["Shopify", "shpat_"],
  ["a webhook", "whsec_"],
  ["Razorpay", "rzp_live_"],
  ["Notion", "ntn_"],
  ["Linear", "lin_api_"],
  ["Figma", "figd_"],
  ["PostHog", "phc_"],
  ["Supabase", "sbp_"],
  ["Sentry", "sntrys_"],
  ["New Relic", "NRAK-"],
  ["Square", "sq0atp-"],
  ["Slack", "xoxb-"],
  ["a Slack app", "xapp-"],
  ["Atlassian", "ATATT3x"],
  ["Vault", "hvs."],
  ["Bedrock", "ABSK", `${mixed}${mixed}`],
  ["Bedrock, short-term", "bedrock-api-key-"],
  ["Google", "AIza"],
  ["Gemini", "AQ."],
  ["a Google client", "GOCSPX-"],
  ["Google, access", "ya29."],
  ["Google, refresh", "1//0"],
  ["Databricks", "dapi", hex],
  ["Twilio", "SK", hex],
  ["Mailgun", "key-", hex],
  ["SendGrid", "SG.a1B2c3D4e5F6g7H8.", mixed],
  ["age", "AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"],
  ["an AWS key id", "AKIA", "IOSFODNN7EXAMPLE"],
  ["an Azure app", "abc8Q~", `${mixed}.${mixed}`],
];

/** Values that a name, a scheme or an address announces. */
const announced: readonly Row[] = [
  ["a Mailchimp key", `denied ${hex}-us12`, hex],
  ["a Telegram bot token", `https://api.telegram.org/bot123456789:AA${mixed}${mixed}/x`, mixed],
  ["a Slack webhook", `https://hooks.slack.com/services/T0/B0/${mixed}`, mixed],
  ["a Discord webhook", `https://discord.com/api/webhooks/1/${mixed}`, mixed],
  ["an AWS secret key", "AWS denied wJalrXUtnFEMIaK7MDENGabPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMIaK7MDENGabPxRfiCYEXAMPLEKEY"],
  ["an AWS secret in a variable", `AWS_SECRET_ACCESS_KEY=${mixed}`, mixed],
  ["the signature of a presigned URL", `https://b.s3.test/k?X-Amz-Expires=9&X-Amz-Signature=${hex}`, hex],
  ["an Azure connection string", `AccountName=a;AccountKey=${mixed}==;EndpointSuffix=x`, mixed],
  ["an Azure shared access signature", `https://a.blob.test/c?sv=2022&sig=${mixed}%3D&se=2026`, mixed],
  ["a JSON web token", `denied eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${mixed}`, mixed],
  ["a bearer token", `Authorization: Bearer ${mixed}`, mixed],
  ["basic credentials", `authorization: basic ${mixed}`, mixed],
  ["another scheme", `Authorization: Token ${hex}`, hex],
  ["a scheme with several values", `Authorization: Digest username=a, response=${hex}`, hex],
  ["a header of a key", `x-api-key: ${hex}`, hex],
  ["a cookie", `Cookie: a=1; session=${mixed}`, mixed],
  ["a cookie to store", `set-cookie: sid=${mixed}; Path=/; HttpOnly`, mixed],
  ["a printed list of headers", `[ 'authorization', 'Token ${hex}' ]`, hex],
  ["a printed object of headers", `{ apiKey: '${hex}', host: 'x' }`, hex],
  ["an invalid header", `Headers.append: "${mixed}\nsecond" is an invalid header value.`, mixed],
  ["a password in a URL", "postgres://admin:hunter2hunter@db:5432/x", "hunter2hunter"],
  ["a URL without a user", "redis://:hunter2hunter@cache:6379/0", "hunter2hunter"],
  ["a token as the user of a URL", `https://${mixed}@github.com/a/b`, mixed],
  ["a percent-encoded URL", "url=postgres%3A%2F%2Fapp%3Ahunter2hunter%40db&n=1", "hunter2hunter"],
  ["a query parameter", "https://x.test/v1?alt=sse&key=hunter2hunter&n=1", "hunter2hunter"],
  ["the code of a login", `https://x.test/back?code=${mixed}`, mixed],
  ["a percent-encoded query", "next=%2Fx%3Ftoken%3Dhunter2hunter%26n%3D1", "hunter2hunter"],
  ["a form", "grant_type=password&client_secret=hunter2hunter&n=1", "hunter2hunter"],
  ["a field of JSON", '{"api_key": "hunter2hunter", "n": 1}', "hunter2hunter"],
  ["JSON inside JSON", JSON.stringify({ body: JSON.stringify({ api_key: "hunter2hunter" }) }), "hunter2hunter"],
  ["a list of JSON", '{"authorization":["hunter2hunter"],"n":1}', "hunter2hunter"],
  ["a pair of name and value", '{"key":"api_key","value":"hunter2hunter"}', "hunter2hunter"],
  ["YAML", "db:\n  user: app\n  password: hunter2hunter\n  port: 1", "hunter2hunter"],
  ["XML", "<user>a</user><password>hunter2hunter</password>", "hunter2hunter"],
  ["a variable", "DB_PASSWORD=hunter2hunter next", "hunter2hunter"],
  ["an option of a command", "deploy --token hunter2hunter now", "hunter2hunter"],
  ["the user of a command", "curl -u app:hunter2hunter https://x.test", "hunter2hunter"],
  ["a sentence", `Your API key is ${mixed}.`, mixed],
  ["a refusal", `Incorrect API key provided: ${mixed}.`, mixed],
  ["the line after a name", `API_KEY:\n  ${mixed}\nend`, mixed],
  ["a private key", `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`, body],
  ["a private key without its first line", `MIIEvQIBADAN${body}\n${body}== end`, body],
];

/** Gives each row a secret of its own, with the same length and kind of characters. */
function toKind([kind, text, secret]: Row, index: number): SecretKind {
  const own = secret.slice(0, -3) + String(index).padStart(3, "0");
  const letter = (place: number): string => String.fromCodePoint(97 + (place % 26));
  const mark = `Lighthouse-${letter(Math.floor(index / 26))}${letter(index)}`;
  return { kind, text: `${mark}\n${text.replaceAll(secret, own)}`, secret: own, mark };
}

export const secretKinds: readonly SecretKind[] = [
  ...prefixes.map(([vendor, prefix, rest = mixed]): Row => [`a key of ${vendor}`, `denied ${prefix}${rest}`, rest]),
  ...announced,
].map(toKind);
