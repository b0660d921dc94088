/** The command line asks for something that there is not; the message says what there is. */
export class NotUnderstood extends Error {}
