#include "api/rest/parameter_tables.h"
#include "api/rest/parameters.h"
#include "cli/command.h"

static void append_entry(const struct terminal *terminal, const json_t *entry, struct buffer *out)
{
    const struct str at = member_text(entry, "at"), action = member_text(entry, "action");
    const bool denied = str_is(action, "denied");
    buffer_printf(out, "%8lld  %.10s %.8s  ", (long long)member_int(entry, "id"), at.data, at.data + 11);
    terminal_append(terminal, out, denied ? STYLE_BAD : STYLE_BOLD, action);
    buffer_append_repeated(out, ' ', action.size < 16 ? 16 - action.size : 1);
    terminal_append(terminal, out, STYLE_PLAIN, member_text(entry, "object"));
    buffer_append_string(out, "  by ");
    terminal_append(terminal, out, STYLE_PLAIN, member_text(entry, "user"));
    buffer_append_string(out, ", ");
    terminal_append(terminal, out, STYLE_PLAIN, member_text(entry, "door"));
    if (member_int(entry, "token_id"))
        buffer_printf(out, " with token %lld", (long long)member_int(entry, "token_id"));
    buffer_append_byte(out, '\n');
}

static ibid_code run_audit(struct invocation *invocation, ibid_error *err)
{
    AUTO_JSON *answer = NULL;
    AUTO_BUFFER query = BUFFER(4096), out = BUFFER(16 * 1024 * 1024);
    parameters_to_query(audit_parameters, invocation->parameters, &query);
    const char *target = arena_printf(&invocation->arena, "/api/v1/audit%s", query.data ? query.data : "");
    TRY(door_call(invocation->door, "GET", target, NULL, &answer, err));
    if (invocation->global.json) {
        print_json(answer);
        return IBID_OK;
    }
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(answer, "entries"), index, entry)
        append_entry(&invocation->terminal, entry, &out);
    if (index == 0)
        buffer_append_string(&out, "No entries.\n");
    const long long next = (long long)member_int(answer, "next_before");
    if (next)
        buffer_printf(&out, "Older ones: ibid audit --before %lld\n", next);
    print_buffer(&out);
    return IBID_OK;
}

const struct command command_audit = {
    .name = "audit",
    .summary = "Show who changed what",
    .text =
        "The audit log, newest first: when, what was done, to what, by whom, through which door. It holds "
        "uploads, removals, tokens, repairs, the runs that were started, and requests that were denied "
        "(action 'denied'); never the text of a query or a document. Times are in UTC. Entries "
        "are kept for audit.keep (a year).",
    .examples = "ibid audit\n"
                "ibid audit --action document.remove\n"
                "ibid audit --action denied --limit 20",
    .parameters = audit_parameters,
    .parameters_size = sizeof(struct audit_parameters),
    .run = run_audit,
};
