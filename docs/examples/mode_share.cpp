// SPDX-License-Identifier: Apache-2.0
// What each physical CPU did, by mode, in C++: c++ mode_share.cpp $(pkg-config --cflags --libs libsonde) && ./a.out history.sonde
#include <sonde/sonde.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace {

using history_ptr = std::unique_ptr<sonde_history, decltype(&sonde_history_close)>;

// Time by mode of what the attribute "runs" of a CPU has as values: rows of contexts, plus one.
std::map<std::string, int64_t> by_mode(sonde_history *history, uint32_t attr, int64_t begin, int64_t end)
{
	std::map<std::string, int64_t> times;
	sonde_time_share *shares = nullptr;
	unsigned nr = 0;

	if (sonde_interval_sum(history, attr, begin, end, &shares, &nr))
		return times;
	for (unsigned i = 0; i < nr; i++) {
		sonde_context context;

		if (sonde_context_get(history, static_cast<int64_t>(shares[i].value) - 1, &context))
			context.mode = SONDE_MODE_UNKNOWN;
		times[sonde_mode_name(context.mode)] += shares[i].time_ns;
	}
	std::free(shares);
	return times;
}

} // namespace

int main(int argc, char **argv)
{
	sonde_error error;
	sonde_history *opened = nullptr;
	int64_t begin, end;

	if (argc != 2 || sonde_history_open(&opened, argv[1], &error)) {
		std::fprintf(stderr, "%s\n", argc == 2 ? error.text : "usage: mode_share RUN.sonde");
		return 1;
	}
	history_ptr history(opened, sonde_history_close);
	sonde_history_traced(history.get(), &begin, &end);
	for (int64_t cpu = sonde_next_cpu(history.get(), 0, INT32_MIN); cpu >= 0;) {
		sonde_cpu row;

		sonde_cpu_get(history.get(), cpu, &row);
		std::printf("CPU %d:", row.number);
		for (const auto &[mode, time] :
		     by_mode(history.get(), sonde_attr_of_cpu(history.get(), cpu, "runs"), begin, end))
			std::printf(" %s %.1f%%", mode.c_str(),
				    100.0 * static_cast<double>(time) / static_cast<double>(end - begin));
		std::printf("\n");
		cpu = sonde_next_cpu(history.get(), 0, row.number);
	}
	return 0;
}
