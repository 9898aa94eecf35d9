// Names of fields, headers, variables and query parameters that hold secrets. Compared in lower case and without separators.

const anywhere = [
  "passw(?:or)?d|passphrase|passcode|pwd|credential|authorization|cookie|secret(?!ar)|connectionstring|sessionid|bearer|jwt",
  "(?:api|access|private|signing|encryption|subscription|account|auth|master|functions|shared|storage|service|consumer|app)key|token$",
].join("|");

/** Too short to be parts of longer names. */
const whole = "auth|pass|pin|otp|mfa|cvv|cvc|ssn|sid";

const ofFields = new RegExp(`${anywhere}|^(?:${whole}|tokens)$`);
const ofTexts = new RegExp(anywhere);
const ofAssignments = new RegExp(`signature$|^(?:${whole}|sig)$`);

/** Whether a key of plain data names a secret. */
export function namesSecret(key: string): boolean {
  return ofFields.test(squash(key));
}

/** Whether a name in a text names a secret. After "=" and before quotes, more names are known: prose does not look like that. */
export function namesSecretInText(name: string, isAssigned: boolean): boolean {
  const squashed = squash(name);
  return ofTexts.test(squashed) || (isAssigned && ofAssignments.test(squashed));
}

function squash(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
