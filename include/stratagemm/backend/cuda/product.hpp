// The products: what each kernel is given, and queuing it.
#pragma once

#include "choice.hpp"
#include "fetched.hpp"
#include "kernels/reals.cu.hpp"

STRATAGEMM_BEGIN

// The operands of a product of sums, and the targets of a product into several: what is fused with the product of the
// first terms into the first target.
template <class In, class Out>
struct cuda_fusion {
    struct sum {
        cuda_view<In const> term[cuda_most_terms];
        int terms = 1;
    };
    sum a, b;
    typename spread<cuda_view<Out>, cuda_most_targets>::target target[cuda_most_targets];
    int targets = 1;
};

// The product of the first terms into the first target, and all terms and targets in `fusion`. What the only term or
// target is multiplied by goes into alpha.
template <class Problem>
auto cuda_plain(Problem const& p, cuda_fusion<typename Problem::a_type, typename Problem::c_type>& fusion) {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    dense_problem<In, In, Out, cuda_memory, typename Problem::epilogue_type> q;
    q.alpha = p.alpha, q.beta = p.beta, q.e = p.e, q.epilogue = p.epilogue;
    q.row0 = p.row0, q.col0 = p.col0;
    auto const first_of = [&](auto const& operand, auto& sum) -> cuda_view<In const> {
        if constexpr (is_view<std::remove_cvref_t<decltype(operand)>>::value) {
            return operand;
        } else {
            cuda_view<In const> first = operand.term[0];
            sum.terms = operand.terms;
            for (int t = 0; t < sum.terms; ++t) sum.term[t] = operand.term[t];
            if (sum.terms == 1)
                q.alpha = q.alpha * first.scale;
            else
                first.conjugate = false; // kernels find it in the copy
            first.scale = decltype(first.scale)(1);
            return first;
        }
    };
    q.a = first_of(p.a, fusion.a), q.b = first_of(p.b, fusion.b);
    if constexpr (is_view<typename Problem::c_operand>::value) {
        q.c = p.c;
    } else {
        auto const& first = p.c.at[0];
        q.c = first.to;
        fusion.targets = p.c.targets;
        if (fusion.targets == 1) q.alpha = q.alpha * first.factor, q.beta = first.keep, q.e = first.from;
        for (int t = 0; t < fusion.targets; ++t)
            fusion.target[t] = {p.c.at[t].to, p.c.at[t].factor, p.c.at[t].keep, p.c.at[t].from};
    }
    return q;
}

// One product as kernels take it. The product is turned if this makes the columns of C have its smaller stride, or
// gives a C of few rows few columns. take() says how it is multiplied; workspace() and run() go by that. If one operand
// is narrower than the other, either C has few columns and A is the narrower, or either operand is widened on the way to
// shared memory.
template <class Problem>
class cuda_product {
    using A = typename Problem::a_type;
    using B = typename Problem::b_type;
    using In = typename Problem::wide_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;
    using Fusion = cuda_fusion<In, Out>;

public:
    using a_type = A;
    using b_type = B;
    using in_type = In;
    using out_type = Out;
    using packing = cuda_packing<In>;
    using scalar = Scalar;
    static constexpr bool has_one_type = stratagemm::has_one_type<Problem>;
    static constexpr char letter = type_letter<In>();

    cuda_product(cuda_session& session, CUstream stream, Problem const& given, bool invariant,
                 Fusion const* fusion = nullptr) requires stratagemm::has_one_type<Problem>
        : session_(session),
          stream_(stream),
          turned_(turns(session.device(), given, invariant)),
          p_(turned_ ? given.transposed() : given),
          epilogue_(given.epilogue),
          fusion_(fusion) {}

    // `oriented` is turned already, as kernels take it.
    cuda_product(cuda_session& session, CUstream stream, Problem const& oriented,
                 bool turned) requires(!stratagemm::has_one_type<Problem>)
        : session_(session), stream_(stream), turned_(turned), p_(oriented), epilogue_(oriented.epilogue),
          fusion_(nullptr) {}

    // Whether to turn the product. In either orientation, C may have few columns, and A may be read as it lies.
    static bool turns(cuda_device const& d, Problem const& p, bool invariant) {
        cuda_sides const s = sides_of(p), other = s.turned();
        constexpr char type = type_letter<In>();
        if (!invariant && reads_shifted(type, sizeof(In), d, s, layout_of(p))) return false;
        if (!invariant && reads_shifted(type, sizeof(In), d, other, layout_of(p.transposed()))) return true;
        return turns(p, invariant);
    }
    static bool turns(Problem const& p, bool invariant) {
        // An imaginary part adds up two products. Turning would exchange the first and the second.
        if (invariant && complex_like<In>) return false;
        cuda_sides const s = sides_of(p);
        constexpr char type = type_letter<In>();
        if (is_narrow(type, s)) return false;
        return oriented(type, s) != s || (s.n != 1 && (s.m == 1 || rows_are_closer(p.c)));
    }

    // Checks what would fail on the device, before anything is queued.
    status check(bool pointers) const {
        if (status s = session_.ready(); !s) return s;
        auto const can_follow = [&](auto const& v) { return session_.check_pointer(v.data.address); };
        if (pointers && fusion_) {
            for (auto const* sum : {&fusion_->a, &fusion_->b})
                for (int t = 1; t < sum->terms; ++t)
                    if (status s = can_follow(sum->term[t]); !s) return s;
            for (int t = 1; t < fusion_->targets; ++t) {
                auto const& target = fusion_->target[t];
                if (status s = can_follow(target.to); !s) return s;
                if (status s = target.keep != Scalar(0) ? can_follow(target.from) : status(); !s) return s;
            }
        }
        return check(session_, p_, epilogue_, pointers);
    }
    static status check(cuda_session const& session, Problem const& p, cuda_epilogue<Scalar> const& epilogue,
                        bool pointers) {
        if (pointers) {
            void const* const all[] = {p.a.data.address, p.b.data.address, p.c.data.address,
                                       p.beta != Scalar(0) ? p.e.data.address : p.c.data.address};
            for (void const* const x : all)
                if (status s = session.check_pointer(x); !s) return s;
        }
        if (status s = check_sides(p, "cuda"); !s) return s;
        return epilogue.check();
    }

    cuda_sides sides() const { return sides_of(p_); }
    cuda_layout layout() const { return layout_of(p_); }
    static cuda_layout layout_of(Problem const& p) {
        cuda_line_view<A> const a = cuda_line_view_of<A>(p.a, p.a_step, p.count);
        cuda_line_view<B> const b = cuda_line_view_of<B>(transposed(p.b), p.b_step, p.count);
        bool const whole = reinterpret_cast<std::uintptr_t>(a.view.data.address) % sizeof(A) == 0;
        return {a.along_k, b.along_k, whole && a.view.col_stride == 1, narrower<A>, narrower<B>};
    }
    // The bytes of an element, as cuda_layout has them: 0 if T is not narrower.
    template <class T>
    static constexpr short narrower = std::is_same_v<T, In> ? 0 : sizeof(T);
    // Whether threads that gather can read the operands.
    bool lies_in_lines() const {
        return cuda_lines_of(line_view_a()).are_lines() && cuda_lines_of(line_view_b()).are_lines();
    }

    // The arguments of an oriented product.
    static cuda_arguments<Scalar> arguments_of(Problem const& p, bool turned) {
        cuda_arguments<Scalar> x;
        x.a = cuda_place(p.a, p.a_step), x.b = cuda_place(p.b, p.b_step);
        x.e = cuda_place(p.e, p.e_step), x.c = cuda_place(p.c, p.c_step);
        x.row0 = p.row0, x.col0 = p.col0;
        x.m = static_cast<int>(p.c.rows), x.n = static_cast<int>(p.c.cols);
        x.k = static_cast<int>(p.a.cols), x.count = static_cast<int>(p.count);
        x.flags = flags_of(p, turned);
        x.alpha = p.alpha, x.beta = p.beta;
        return x;
    }
    // Bytes that a product may take besides: for sums of parts of k, and for copies of the operands.
    static std::size_t workspace(cuda_choice const& choice, cuda_sides const& s, bool sums = false) {
        if constexpr (complex_like<In>)
            if (choice.by_reals) return workspace_of_reals(choice, s, sums);
        return bytes_of_parts(choice, s) + choice.tile.visit([&]<class Engine>(Engine const&) -> std::size_t {
            if constexpr (reads_lines<Engine>)
                return bytes_of_copies(s); // sums are formed as they are copied
            else if constexpr (requires { Engine::template copies_at_most<In>(s); })
                return Engine::template copies_at_most<In>(s) + (sums ? bytes_of_copies(s) : 0);
            else
                return sums ? bytes_of_copies(s) : 0;
        });
    }
    static std::size_t bytes_of_copies(cuda_sides const& s) {
        return cuda_lines<In>::bytes_either(s.m, s.k, s.count) +
               cuda_lines<In>::bytes_either(s.k, s.n, s.count);
    }
    // The bytes of sums of parts of k alone.
    static std::size_t bytes_of_parts(cuda_choice const& choice, cuda_sides const& s) {
        if (choice.part == 0 || choice.together) return 0;
        return choice.tile.visit(
            [&](auto const& engine) { return sum_bytes(sums_of_parts(engine, choice, s)); });
    }

    // The choice that is multiplied by, and the form that its engine gives these operands.
    void take(cuda_choice const& choice) {
        choice_ = choice;
        if (choice.by_reals) return;         // the product of real numbers has one
        cuda_product const& product = *this; // nvcc knows no *this in a requirement inside a lambda
        form_ = choice.tile.visit([&]<class Engine>(Engine const& engine) {
            if constexpr (requires { engine.form_of(product, choice); } && has_tiles<Engine>)
                return engine.form_of(product, choice);
            else
                return product.form_as_lying(choice);
        });
    }
    cuda_choice const& choice() const { return choice_; }
    // Bytes for these operands, without copies that are not made.
    std::size_t workspace() const {
        bool const sums = fusion_ && (fusion_->a.terms > 1 || fusion_->b.terms > 1);
        if (sums || choice_.by_reals) return workspace(choice_, sides(), sums);
        cuda_product const& product = *this;
        return bytes_of_parts(choice_, sides()) +
               choice_.tile.visit([&]<class Engine>(Engine const& engine) -> std::size_t {
                   if constexpr (reads_lines<Engine>)
                       return product.copies_lines()
                                  ? product.bytes_copied(product.line_view_a(), product.form_.a_along_k) +
                                        product.bytes_copied(product.line_view_b(), product.form_.b_along_k)
                                  : 0;
                   else if constexpr (requires { engine.copies(product, product.choice_); })
                       return engine.copies(product, product.choice_);
                   return 0;
               });
    }
    // Bytes of the copy of an operand whose lines lie along k or not; 0: none is needed.
    template <class T>
    static std::size_t bytes_copied(cuda_line_view<T> const& x, bool along_k) {
        cuda_lines<T> const l = cuda_lines_of(x);
        if (x.along_k != along_k) return cuda_lines<T>::bytes(l.length, l.lines, l.count);
        return l.can_be_fetched() ? 0 : cuda_lines<T>::bytes(l.lines, l.length, l.count);
    }

    // Operands of two types are widened while they are read, by engines that can.
    status run(cuda_arena& memory) {
        cuda_arena::scope const until_return(memory);
        if constexpr (has_one_type)
            if (choice_.by_reals || !choice_.tile.visit([]<class E>(E const&) { return reads_lines<E>; }))
                if (status s = form_sums(memory); !s) return s;
        if constexpr (complex_like<In>)
            if (choice_.by_reals) return run_by_reals(memory);
        return choice_.tile.visit([&]<class Engine>(Engine const& engine) -> status {
            if constexpr (!multiplies<Engine>(letter, has_one_type))
                return error(errc::unsupported,
                             "cuda: the engine that was chosen does not multiply these types");
            else if constexpr (has_tiles<Engine>)
                return run_in_parts(engine, choice_, form_, memory);
            else
                return engine.launch(*this, choice_, memory);
        });
    }

    // ---- for engines --------------------------------------------------------------------------------------

    Problem const& problem() const { return p_; }
    cuda_session& session() const { return session_; }
    cuda_device const& device() const { return session_.device(); }
    CUstream stream() const { return stream_; }
    cuda_epilogue<Scalar> const& epilogue() const { return epilogue_; }
    bool spreads() const { return fusion_ && fusion_->targets > 1; }
    cuda_arguments<Scalar> arguments(cuda_way const& way) const {
        cuda_arguments<Scalar> x = arguments_of(p_, turned_);
        x.part = static_cast<int>(way.piece);
        return x;
    }
    // What every engine's form has.
    cuda_form form_as_lying(cuda_way const& way) const {
        cuda_form f;
        f.invariant = way.invariant, f.together = way.together, f.spreads = spreads();
        f.pieces = way.piece > 0 && way.part == 0;
        f.a_along_k = line_view_a().along_k, f.b_along_k = line_view_b().along_k;
        return f;
    }
    // The kernel of an engine, compiled by the first call.
    template <class Engine>
    result<cuda_compiled*> compiled(Engine const& engine, cuda_form const& form,
                                    cuda_epilogue<Scalar> const& epilogue) const {
        constexpr char of_a = narrower<A> ? type_letter<A>() : char{},
                       of_b = narrower<B> ? type_letter<B>() : char{};
        return session_.kernel({cuda_operation::product,
                                {letter, type_letter<Out>(), of_a, of_b},
                                engine,
                                form,
                                epilogue.text()},
                               [&] { return engine.template source<In, Out, A, B>(form, epilogue); });
    }

    // Lets an engine write to C; or lets it write the sums of parts of k to workspace, and then adds them up to C.
    template <class Engine>
    status run_in_parts(Engine const& engine, cuda_way const& way, cuda_form form, cuda_arena& memory) const {
        cuda_arguments<Scalar> x = arguments(way);
        if (way.together) x.part = static_cast<int>(way.part);
        if (way.part == 0 || way.together) return engine.run(*this, way, form, x, epilogue_, memory);

        // The sums of parts of k are added up in order, so that the result is always the same.
        bool const tail = way.whole > 0;
        form.partial = !tail, form.tail = tail, form.spreads &= tail, form.dense |= tail;
        cuda_pointer<Scalar> const partial = memory.take<Scalar>(sums_of_parts(engine, way, sides()));
        cuda_arguments<Scalar> sums = x, sum = x;
        sums.part = sum.part = static_cast<int>(way.part);
        sum.a.data = partial.address;
        (tail ? sums.a.data : sums.c.data) = partial.address;
        (tail ? sum : sums).alpha = Scalar(1); // parts have it, or get it then
        index_t runs = p_.c.rows * fours(p_.c.cols) / 4;
        if constexpr (has_tails<Engine>)
            if (tail) {
                sums.count = sum.count = static_cast<int>(way.whole / blocks_of_cluster(engine));
                runs = (tiles_of(engine, sides()) - way.whole) * (engine.m * engine.n / 4);
            }
        // If there are many parts of few elements, several threads add up each element.
        int const slices = tail || way.invariant || way.parts(p_.a.cols) < 16 ? 1
                           : p_.c.rows * p_.c.cols > 100000                   ? 8
                                                                              : 32;
        cuda_epilogue<Scalar> const none{identity{}};
        return gather(tail ? cuda_configuration(engine) : cuda_configuration(), tail, way.invariant, runs,
                      slices, sum,
                      [&] { return engine.run(*this, way, form, sums, tail ? epilogue_ : none, memory); });
    }

    // An operand with its lines as rows. What was A of the given product lies as it was given, and B transposed.
    template <class T>
    cuda_line_view<T> line_view(cuda_view<T const> const& view, index_t step, bool was_a) const {
        cuda_line_view<T> x = cuda_line_view_of<T>(view, step, p_.count);
        if constexpr (std::is_same_v<T, In>)
            if (fusion_) {
                auto const& sum = was_a ? fusion_->a : fusion_->b;
                x.term = sum.term, x.terms = sum.terms, x.flipped ^= !was_a;
            }
        return x;
    }
    cuda_line_view<A> line_view_a() const { return line_view(p_.a, p_.a_step, !turned_); }
    cuda_line_view<B> line_view_b() const { return line_view(transposed(p_.b), p_.b_step, turned_); }
    // Forms sums, for kernels that read matrices as they are.
    status form_sums(cuda_arena& memory) {
        cuda_packing<In> copies;
        auto const form = [&](cuda_line_view<In> const& x) {
            cuda_lines<In> const l = copies.add(x, memory);
            return cuda_view<In const>{{l.data}, l.lines, l.length, l.stride, 1};
        };
        if (cuda_line_view<In> const a = line_view_a(); a.is_sum()) {
            p_.a = form(a);
            if (!a.along_k) p_.a = transposed(p_.a);
        }
        if (cuda_line_view<In> const b = line_view_b(); b.is_sum()) {
            p_.b = form(b);
            if (b.along_k) p_.b = transposed(p_.b);
        }
        return copies.run(session_, stream_);
    }
    // Rows of workspace begin at multiples of four; those of a tail, the tiles that are in parts where the others are
    // whole, are whole tiles.
    template <class Engine>
    static constexpr bool has_tails = requires {
        Engine::divides_last_round(sizeof(In));
    };
    template <class Engine>
    static index_t sums_of_parts(Engine const& engine, cuda_way const& way, cuda_sides const& s) {
        if constexpr (has_tails<Engine>)
            if (way.whole > 0)
                return way.parts(s.k) * (tiles_of(engine, s) - way.whole) * engine.m * engine.n;
        return way.parts(s.k) * s.m * fours(s.n);
    }
    // Whether a tile reads a copy of an operand that does not lie as the tile takes it.
    bool copies_lines() const { return form_.dense || choice_.whole > 0; }
    static index_t fours(index_t n) { return (n + 3) / 4 * 4; }
    static std::size_t sum_bytes(index_t count) {
        return cuda_arena::rounded(static_cast<std::size_t>(count) * sizeof(Scalar));
    }
    // Calls `multiply`, which writes sums to workspace. Then adds up these sums, in runs of four. The kernel is compiled
    // before anything is queued. `shared`: the engine whose last tiles these are.
    template <class F>
    status gather(cuda_configuration const& shared, bool tail, bool invariant, index_t runs, int slices,
                  cuda_arguments<Scalar> const& sum, F const& multiply) const {
        cuda_form form;
        form.tail = tail, form.spreads = spreads(), form.invariant = invariant;
        auto compiled = session_.kernel(
            {cuda_operation::gather, {letter, type_letter<Out>()}, shared, form, epilogue_.text(), slices},
            [&] {
                return cuda_gather_source<In, Out>(cuda_tail_definitions(shared, form), form, slices,
                                                   epilogue_);
            });
        if (!compiled) return compiled.take_status();
        if (status s = multiply(); !s) return s;
        return launch(**compiled, form, (runs - 1) / (256 / slices) + 1, 256, sum);
    }

    static std::size_t workspace_of_reals(cuda_choice const& choice, cuda_sides const& s, bool sums) {
        using R = real_t<In>;
        cuda_sides const real = of_reals(s);
        std::size_t bytes = cuda_lines<R>::bytes(real.k, real.m, 1) +
                            cuda_lines<R>::bytes(real.k, real.n, 1) + sum_bytes(s.m * fours(s.n)) +
                            cuda_product<real_problem>::bytes_of_parts(
                                choice, oriented(type_letter<R>(), real)); // nothing else is copied
        if (sums)
            bytes += cuda_lines<In>::bytes_either(s.m, s.k, 1) + cuda_lines<In>::bytes_either(s.k, s.n, 1);
        return bytes;
    }
    // Whether an engine for real numbers reads A along k as it lies, with lines that can be fetched or not.
    static bool takes_a_along_k(cuda_configuration const& c, bool can_be_fetched) {
        return c.visit([&](auto const& engine) {
            if constexpr (requires { engine.takes_along_k(sizeof(In)); })
                return can_be_fetched && engine.takes_along_k(sizeof(real_t<In>));
            else
                return true;
        });
    }
    // Multiplies complex numbers as twice as many real ones (kernels/reals.cu.hpp), one product of the batch after
    // another. The product of real numbers writes C if that product can do all that is asked for.
    using real_problem = dense_problem<real_t<In>, real_t<In>, real_t<In>, cuda_memory>;
    struct reals {
        cuda_pointer<real_t<In>> a, b, sums; // copies of the operands; sums that are not yet C
        index_t a_stride = 0;                // from a row of A to the next
        bool a_lies = false;                 // A is read where it lies
        bool writes_c = false;
    };
    reals take_reals(cuda_arena& memory) const {
        using R = real_t<In>;
        cuda_sides const all = sides(), real = of_reals(all);
        reals x;
        x.b = memory.take<R>(real.k * cuda_lines<R>::rounded(real.n));
        cuda_line_view<In> const given = line_view_a();
        cuda_lines<R> lines{reinterpret_cast<R const*>(given.view.data.address),
                            all.m,
                            real.k,
                            1,
                            2 * given.view.row_stride,
                            0};
        if (all.m == 1) lines.stride = cuda_lines<R>::rounded(real.k);
        bool const can_be_fetched = lines.can_be_fetched() && 2 * p_.a_step % cuda_lines<R>::unit == 0;
        x.a_lies = given.along_k && (given.view.col_stride == 1 || all.k == 1) &&
                   takes_a_along_k(choice_.tile, can_be_fetched);
        x.a_stride = lines.stride;
        if (!x.a_lies) x.a = memory.take<R>(real.k * cuda_lines<R>::rounded(real.m));
        x.writes_c = epilogue_.text().empty() && !spreads() && p_.c.col_stride == 1 && p_.alpha.imag() == 0 &&
                     p_.beta.imag() == 0 &&
                     (p_.beta == Scalar(0) || (p_.e.col_stride == 1 && !p_.e.conjugate));
        if (!x.writes_c) x.sums = memory.take<R>(2 * all.m * fours(all.n));
        return x;
    }
    // A and B of a product as real numbers.
    status form_reals(Problem const& one, reals const& x, real_problem& q) const {
        using R = real_t<In>;
        cuda_sides const real = of_reals(sides());
        q.b = {x.b, real.k, real.n, cuda_lines<R>::rounded(real.n), 1};
        if (status s = copy_as_reals(one.b, one.b.conjugate, one.a.conjugate, true, q.b); !s) return s;
        if (x.a_lies) {
            q.a = {{reinterpret_cast<R const*>(one.a.data.address)}, real.m, real.k, x.a_stride, 1};
            return {};
        }
        cuda_view<R> const turned{x.a, real.k, real.m, cuda_lines<R>::rounded(real.m), 1};
        q.a = transposed(turned);
        return copy_as_reals(transposed(one.a), false, false, false, turned);
    }
    status run_by_reals(cuda_arena& memory) const {
        reals const x = take_reals(memory);
        cuda_choice choice = choice_;
        choice.by_reals = false;
        for (index_t i = 0; i < p_.count; ++i) {
            Problem const one = p_.at(i);
            real_problem q;
            if (status s = form_reals(one, x, q); !s) return s;
            auto const multiply = [&] {
                cuda_product<real_problem> product(session_, stream_, q, choice.invariant);
                product.take(choice);
                return product.run(memory);
            };
            status done;
            if (x.writes_c) {
                q.alpha = one.alpha.real(), q.beta = one.beta.real();
                q.c = as_real(one.c), q.e = as_real(added_or_c(one));
                done = multiply();
            } else {
                index_t const pitch = fours(one.c.cols);
                q.c = {x.sums, one.c.rows, 2 * one.c.cols, 2 * pitch, 1}, q.e = q.c;
                cuda_arguments<Scalar> sum = arguments_of(one, turned_);
                sum.a.data = x.sums.address, sum.part = sum.k;
                done = gather({}, false, choice.invariant, one.c.rows * pitch / 4, 1, sum, multiply);
            }
            if (!done) return done;
        }
        return {};
    }
    template <class T>
    static auto as_real(cuda_view<T> const& v) {
        using R = std::conditional_t<std::is_const_v<T>, real_t<In> const, real_t<In>>;
        return cuda_view<R>{{reinterpret_cast<R*>(v.data.address)}, v.rows, 2 * v.cols, 2 * v.row_stride, 1};
    }
    // `other_conjugated`: the operand beside x is.
    template <class To>
    status copy_as_reals(cuda_view<In const> const& x, bool conjugated, bool other_conjugated, bool twice,
                         To const& to) const {
        using R = real_t<In>;
        bool const across = magnitude(x.row_stride) < magnitude(x.col_stride);
        return cuda_operations(session_, stream_)
            .launch(as_reals<In>(twice, across), ((x.rows - 1) / 32 + 1) * ((x.cols - 1) / 32 + 1),
                    cuda_view<In const>(x), R(conjugated ? -1 : 1), R(other_conjugated ? -1 : 1),
                    cuda_pointer<R>{const_cast<R*>(to.data.address)}, to.row_stride, x.rows, x.cols);
    }
    // Calls f with the arguments of a kernel: with all targets, if it spreads its result.
    template <class F>
    status with_targets(cuda_form const& form, cuda_arguments<Scalar> const& x, F const& f) const {
        if (!form.spreads) return f(x);
        cuda_spread_arguments<Scalar> all;
        static_cast<cuda_arguments<Scalar>&>(all) = x;
        all.targets = fusion_->targets;
        bool in_runs = true;
        for (int t = 0; t < all.targets; ++t) {
            auto const& target = fusion_->target[t];
            auto const oriented = [&](auto const& v) { return cuda_place(turned_ ? transposed(v) : v); };
            bool const adds = target.keep != Scalar(0);
            auto& to = all.at[t];
            to.c = oriented(target.to), to.e = adds ? oriented(target.from) : to.c;
            to.factor = target.factor, to.beta = target.keep;
            if (adds) to.flags |= cuda_flag::adds;
            if (adds && target.from.conjugate) to.flags |= cuda_flag::conjugate_e;
            in_runs &= to.c.col == 1 && (reinterpret_cast<std::uintptr_t>(to.c.data) % 16 |
                                         static_cast<std::uintptr_t>(to.c.row) * sizeof(Out) % 16) == 0;
        }
        if (in_runs) all.flags |= cuda_flag::targets_in_runs;
        return f(all);
    }
    // Blocks of each multiprocessor, if blocks are to be shared out evenly; 0: there are so many blocks that this makes
    // no difference. Blocks of a cluster of few columns share multiprocessors that lie together.
    unsigned spread_out(index_t blocks, int cluster = 1) const {
        index_t const each = (blocks - 1) / units_filled(cluster, session_.device().units) + 1;
        return each < 16 ? static_cast<unsigned>(each) : 0;
    }
    // A copy of B in lines along k that the hardware could fetch, and the arguments with it; formed, if B is a sum.
    status copy_b(cuda_arguments<Scalar>& x, cuda_arena& memory) const {
        cuda_packing<In> copies;
        cuda_lines<In> const b =
            fetchable(cuda_line_view_of<In>(transposed(p_.b), p_.b_step, p_.count), true, copies, memory);
        x.b = {const_cast<In*>(b.data), 1, b.stride, b.step};
        return copies.run(session_, stream_);
    }
    status launch(cuda_compiled const& compiled, cuda_form const& form, index_t blocks, int threads,
                  cuda_arguments<Scalar> const& x, unsigned each = 0, unsigned cluster = 1) const {
        if (blocks > device_longest)
            return error(errc::unsupported, "cuda: a product is too large for one launch; multiply blocks");
        return with_targets(form, x, [&](auto const& arguments) {
            cuda_grid const grid{.blocks = static_cast<unsigned>(blocks),
                                 .threads = static_cast<unsigned>(threads),
                                 .cluster = cluster,
                                 .each = each};
            return session_.launch(stream_, compiled, grid, arguments, epilogue_.bytes());
        });
    }

    // The operand itself, or a copy in memory that the hardware can fetch.
    static cuda_lines<In> fetchable(cuda_line_view<In> x, bool along_k, cuda_packing<In>& copies,
                                    cuda_arena& memory) {
        if (x.along_k != along_k) {
            x.transpose();
        } else if (cuda_lines<In> const lines = cuda_lines_of(x); !x.is_sum() && lines.can_be_fetched()) {
            return lines;
        }
        return copies.add(x, memory);
    }

private:
    cuda_session& session_;
    CUstream stream_;
    bool turned_;
    Problem p_;
    cuda_epilogue<Scalar> epilogue_;
    Fusion const* fusion_;
    cuda_choice choice_;
    cuda_form form_;
};

STRATAGEMM_END
