/** A text as HTML shows it, also in an attribute's quotes. */
export function escapedHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
