/** The response, or undefined if the connection broke. */
export async function unlessBroken<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await ask();
  } catch (error) {
    // fetch says so, and nothing more, of a connection that broke and of a body that ended early.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
