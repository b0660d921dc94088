// How the cells of a receipt's tables look: inline, because mail readers drop style sheets.
export const cell = 'style="padding:4px 12px 4px 0;vertical-align:top"';
export const right = 'style="padding:4px 0;text-align:right;vertical-align:top;white-space:nowrap"';
export const head = 'style="padding:4px 12px 4px 0;text-align:left;border-bottom:1px solid #999"';
export const headRight = 'style="padding:4px 0;text-align:right;border-bottom:1px solid #999"';
